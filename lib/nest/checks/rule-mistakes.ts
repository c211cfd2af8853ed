import { editsBetween } from '../../contracts/rate-limit-config.error.js';
import type { Type } from '@nestjs/common';
import { after, type Timer } from '../../contracts/timer.js';
import { methodRules } from '../rate-limit.decorator.js';
import type { HandlerMethod } from '../request/routes.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { namedOn, originsOf, type RuleFields } from '../rules/rule-layers.js';
import type { Warnings } from '../warnings.js';

/** Shorter names are often one character apart, such as `get` and `set`. */
const SHORTEST_NAME = 4;

/** To compare each pair of more names would delay the start. */
const MOST_NAMES = 200;

/** A program names a rule when it uses it: after this time, one that nothing has named is reported. */
const HOUR_MS = 3_600_000;

/** Warns of rules that limit nothing, or not what they seem to. */
export class RuleMistakes {
  /** The names of the rules that count requests of a handler. */
  private readonly met = new Set<string>();
  private readonly named = new Set<string>();
  private hasHandlers = false;
  private timer: Timer | undefined;

  constructor(
    private readonly warnings: Warnings,
    private readonly declared: DeclaredRules,
  ) {}

  /**
   * Notes a rule that counts the requests of a handler.
   *
   * @param isRead whether the handler reads its usage
   */
  add(rule: RuleFields, owner: string, isRead = false): void {
    const name = rule['name'] as string;
    this.met.add(name);
    if (namedOn(rule) !== 'nowhere') this.named.add(name);
    if (rule['cost'] !== 0 || rule['settle'] || isRead) return;
    const reason = 'limits nothing, since its cost is 0. Remove `cost`, or the rule.';
    this.warn(`${name} ${originsOf(rule)['cost']}`, `Rule "${name}" of ${owner} ${reason}`);
  }

  /** Notes a method, and checks whether it lacks the rules of the one that it overrides. */
  addMethod({ type, name, kind, owner }: HandlerMethod): void {
    this.hasHandlers ||= kind !== 'none';
    const { rules, skipped } = methodRules(type, name);
    if (rules.length > 0 || skipped.length > 0) return;
    const lost = baseOf(type.prototype as object, name);
    if (lost === undefined) return;
    this.warn(
      owner,
      `${owner} overrides ${lost}, whose @RateLimit does not apply to it. Write @RateLimit on it as well, or ` +
        '@SkipRateLimit() if it has no limit.',
    );
  }

  /** Checks all rules once the handlers are known. */
  check(): void {
    const unset = 'is undefined, so the rule has no such field. Give it a value, or leave it out.';
    for (const path of this.declared.undefinedFields) this.warn(path, `${path} ${unset}`);
    const unmet = this.declared.everyRoute.filter((name) => this.hasHandlers && !this.met.has(name));
    for (const name of unmet) this.warnOfUnmet(name);
    this.warnOfSimilarNames();
    if (this.unnamed().length > 0) this.timer = after(HOUR_MS, () => this.warnOfUnnamed());
  }

  close(): void {
    this.timer?.stop();
  }

  private warnOfUnmet(name: string): void {
    const transports = this.declared.ruledTransports.join(', ');
    const where =
      transports === '' ? 'no transport, since `transports` is empty' : `all handlers of ${transports}`;
    this.warn(
      name,
      `rules.${name} applies to ${where}, and no such handler of this application has it, so it limits no request. Add the transport of ` +
        `your handlers to \`transports\`, write @RateLimit('${name}') on them, or move a rule for programs to \`onDemand\`.`,
    );
  }

  private warnOfSimilarNames(): void {
    const seen = new Map<string, string>();
    for (const name of this.declared.allNames) {
      const other = seen.get(name.toLowerCase());
      if (other !== undefined) this.warnOfPair(other, name, 'in the case of letters');
      seen.set(name.toLowerCase(), name);
    }
    const names = this.declared.allNames.filter(({ length }) => length >= SHORTEST_NAME);
    if (names.length > MOST_NAMES) return;
    for (const [index, name] of names.entries()) {
      const other = names.slice(index + 1).find((each) => isMisspelled(name, each));
      if (other !== undefined) this.warnOfPair(name, other, 'in one character');
    }
  }

  private warnOfPair(one: string, other: string, difference: string): void {
    this.warnings.warn(
      'RL_SIMILAR_NAMES',
      `The rules "${one}" and "${other}" differ ${difference}, and each has a limit of its own. If they are meant to be ` +
        'one, correct the name.',
      one,
    );
  }

  private unnamed(): readonly string[] {
    return this.declared.onDemandNames.filter(
      (name) => !this.named.has(name) && !this.declared.usedByPrograms.has(name),
    );
  }

  private warnOfUnnamed(): void {
    for (const name of this.unnamed()) {
      this.warn(
        name,
        `onDemand.${name} limits nothing so far: no decorator names it, and in an hour no program has used it. Write ` +
          `@RateLimit('${name}') on handlers, limit with consume('${name}', subject), or move it to \`rules\`.`,
      );
    }
  }

  private warn(about: string, message: string): void {
    this.warnings.warn('RL_RULE_WITHOUT_EFFECT', message, about);
  }
}

/** Whether one name is probably the other one misspelled. Names that differ in digits are versions. */
function isMisspelled(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || withoutDigits(one) === withoutDigits(other)) return false;
  return editsBetween(one.toLowerCase(), other.toLowerCase()) === 1;
}

function withoutDigits(name: string): string {
  return name.replace(/\d/g, '');
}

/** Returns the name of the decorated method that a class overrides; `undefined` if there is none. */
function baseOf(prototype: object, method: string): string | undefined {
  if (!Object.hasOwn(prototype, method)) return undefined;
  const base = Object.getPrototypeOf(prototype) as object | null;
  if (base === null || !(method in base)) return undefined;
  const type = base.constructor as Type;
  return methodRules(type, method).rules.length > 0 ? `${type.name}.${method}` : baseOf(base, method);
}
