import { problem, RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import { withLayer } from '../rules/live-layer.js';
import type { RouteRuleFields } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { Exchange } from './exchange.js';
import type { InvalidValues } from '../warnings.js';
import { dynamicFields, sampleOf } from './per-request-rule.js';

const WITHOUT_PLAN = 'Such a request has the limit of the rule itself';

/** The plans of a rule, each compiled once. */
export class PlanRules {
  private readonly rules = new Map<unknown, KeyedRule>();

  /**
   * @param path the name of the rule in messages
   * @throws RateLimitConfigError if a plan is invalid
   */
  constructor(
    private readonly fields: RuleFields & RouteRuleFields & { readonly name: string },
    private readonly path: string,
    keyed: (rule: CompiledRule) => KeyedRule,
    private readonly invalid: InvalidValues,
  ) {
    const { plans = {}, plan } = fields;
    const problems: string[] = [];
    if (plan === undefined) {
      problems.push(
        `${path}.plan: missing, and the rule has plans; allowed: a function that returns the name of a plan`,
      );
    }
    if (fields['share' as keyof typeof fields] !== undefined) {
      problems.push(`${path}.plans: a rule with share has one limit for all; give subjects weights in share`);
    }
    for (const [name, given] of Object.entries(plans)) {
      const of = `${path}.plans.${name}`;
      const layered = withLayer(fields, given, of);
      const dynamic = dynamicFields(layered.fields);
      problems.push(
        ...layered.problems,
        ...dynamic.map((field) => `${of}.${field}: a function in the rule; write a value`),
      );
      if ('algorithm' in given) problems.push(`${of}.algorithm: all plans of a rule have its algorithm`);
      if (problems.length === 0)
        this.rules.set(name, keyed({ ...sampleOf(layered.fields, of), resolved: { plan: name } }));
    }
    if (problems.length > 0) throw new RateLimitConfigError(problems);
  }

  /** Returns the rule of a request's plan; `undefined` if the request has none, or one that does not exist. */
  async of(exchange: Exchange): Promise<KeyedRule | undefined> {
    const plan: unknown = await exchange.valueOf(this.fields.plan);
    if (plan === undefined || plan === null) return undefined;
    const rule = this.rules.get(plan);
    if (!rule) {
      const allowed = [...this.rules.keys()].map((name) => `"${String(name)}"`).join(', ');
      this.invalid.report(
        this.fields.name,
        'plan',
        problem(`${this.path}.plan`, plan, allowed),
        WITHOUT_PLAN,
      );
    }
    return rule;
  }
}
