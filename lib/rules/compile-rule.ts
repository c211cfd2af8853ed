import { isCalendarWindow, NOMINAL_LENGTHS } from '../algorithms/definition.js';
import type { Numbers, Quota, Variant } from '../algorithms/definition.js';
import type { FairShare } from '../algorithms/fair-share-option.js';
import type { Prefetch } from '../algorithms/prefetch-option.js';
import { type AnyDefinition, FOR_LARGE_LIMITS } from '../algorithms/known.js';
import { parseDuration } from '../contracts/duration.js';
import {
  amountsOf,
  levelsOf,
  amountsPerProcess,
  type CompiledPrefetch,
  type CompiledRule,
  type Thresholds,
} from './compiled-rule.js';
import { readFields } from '../contracts/options.js';
import { rejectAny, rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { algorithmOf, checksOf, fieldProblems, missingFields, RULE_FIELDS } from './rule-fields.js';
import { shown } from '../contracts/shown.js';
import { boundedPart } from './subject.js';
import { DEFAULT_ALGORITHM, DEFAULT_RULE_NAME, type Alerting, type AnyRule } from './rule.js';

const TRIAL_FIELDS = { limit: RULE_FIELDS.limit, window: RULE_FIELDS.window };

/** The largest limit of a rule without `algorithm`, since its log stores up to one entry per permit. */
const LARGEST_DEFAULT_LIMIT = 10_000;

const TOO_LARGE_FOR_DEFAULT = `allowed without an algorithm: at most ${LARGEST_DEFAULT_LIMIT}, since ${DEFAULT_ALGORITHM} stores an entry for each permit; choose ${FOR_LARGE_LIMITS} as its algorithm`;

/**
 * Checks a rule and compiles it for the stores.
 *
 * @param path the name of the rule in error messages
 * @param weightName returns the name of a weight in `share` as subjects are counted
 * @throws RateLimitConfigError with all problems of the rule
 */
export function compileRule(
  given: AnyRule,
  path = `rule ${shown(given.name ?? DEFAULT_RULE_NAME)}`,
  weightName = boundedPart,
): CompiledRule {
  const rule = readFields(given, checksOf(given.algorithm));
  const fields = { ...rule } as Readonly<Record<string, unknown>>;
  rejectAny(fieldProblems((field) => `${path}.${field}`, fields));
  rejectAny(missingFields(path, fields));
  const definition = algorithmOf(rule.algorithm);
  const quota = quotaOf(rule, definition);
  const algorithm = definition.resolve?.(quota) ?? definition;
  const { limit, cost = 1, block, trial } = rule;
  if (rule.algorithm === undefined && limit > LARGEST_DEFAULT_LIMIT) {
    rejectConfig(`${path}.limit: got ${limit}; ${TOO_LARGE_FOR_DEFAULT}`);
  }
  const contradiction = limit > 0 ? algorithm.check?.(quota) : undefined;
  if (contradiction !== undefined) rejectConfig(`${path}: ${contradiction}`);

  const amounts = amountsOf(quota, algorithm);
  const { parameters, capacity } = amounts;
  if (cost > capacity && limit > 0) rejectValue(`${path}.cost`, cost, mostOf(capacity));
  return {
    name: rule.name ?? DEFAULT_RULE_NAME,
    algorithm,
    stateName: stateNameOf(quota, algorithm),
    ...amounts,
    among: amountsPerProcess(quota, algorithm),
    bySubject: algorithm.bySubject?.(withWeights(quota, weightName)) as CompiledRule['bySubject'],
    cost,
    unit: rule.unit,
    maxWaitMs: rule.maxWait === undefined ? undefined : parseDuration(rule.maxWait)! / 1000,
    queues: algorithm.queues === true,
    prefetch: compilePrefetch(rule, algorithm, parameters, capacity, path),
    block: block === 'manual' ? 0 : parseDuration(block),
    thresholds: compileAlerts(rule, quota, capacity, path),
    shadow: rule.mode === 'shadow',
    perInstance: rule.per === 'instance',
    onStoreError: rule.onStoreError,
    trial: trial && compileTrial(rule, path, weightName),
  };
}

function mostOf(capacity: number): string {
  return `at most ${capacity}, the maximum number of permits taken at once`;
}

function compilePrefetch(
  rule: AnyRule,
  { name, spendBy }: Variant<object>,
  parameters: Numbers<string>,
  capacity: number,
  path: string,
): CompiledPrefetch | undefined {
  const { prefetch } = rule as { readonly prefetch?: Prefetch };
  if (prefetch === undefined) return undefined;
  const at = `${path}.prefetch`;
  if (!spendBy) rejectValue(at, prefetch, `none with ${name}`);
  if (rule.limit === 0) return undefined; // A live change may close a rule.
  if (prefetch.permits > capacity) rejectValue(`${at}.permits`, prefetch.permits, mostOf(capacity));
  if (rule.block !== undefined)
    rejectValue(at, prefetch, 'none with block, since a blocked subject could use prefetched permits');
  return {
    permits: prefetch.permits,
    ttl: parseDuration(prefetch.ttl ?? '1s')!,
    spendBy: (nth, taken) => spendBy(nth, taken, parameters),
  };
}

function compileAlerts(rule: AnyRule, quota: Quota, capacity: number, path: string): Thresholds | undefined {
  const { alerts: at } = rule as Alerting;
  if (at === undefined) return undefined;
  const fields = { ...rule } as Readonly<Record<string, unknown>>;
  const other = ['share', 'prefetch'].find((field) => fields[field] !== undefined);
  if (other !== undefined) rejectValue(`${path}.alerts`, at, `none with ${other}`);
  return { at, levels: levelsOf({ at }, capacity), keptFor: quota.calendar ? 0 : quota.window };
}

/** Returns the rule with its window in microseconds. */
function quotaOf(rule: AnyRule, definition: AnyDefinition): Quota {
  if (definition.leases) return { ...rule, window: 0 };
  const { window } = rule as { window?: unknown };
  if (isCalendarWindow(window)) return { ...rule, window: NOMINAL_LENGTHS[window], calendar: window };
  return { ...rule, window: parseDuration(window)! };
}

/** Returns the rule with the names of weights as subjects are counted. */
function withWeights(quota: Quota, nameOf: typeof boundedPart): Quota {
  const { share } = quota as Quota & { readonly share?: FairShare };
  if (!share?.weights) return quota;
  const weights = Object.entries(share.weights).map(([name, weight]) => [nameOf(name), weight]);
  return { ...quota, share: { ...share, weights: Object.fromEntries(weights) as unknown } } as Quota;
}

function compileTrial({ trial, ...live }: AnyRule, path: string, nameOf: typeof boundedPart): CompiledRule {
  rejectAny(fieldProblems((field) => `${path}.trial.${field}`, { ...trial }, TRIAL_FIELDS));
  const rule = { ...live, ...trial, mode: 'shadow', alerts: undefined } as AnyRule;
  const { name: trialOf = DEFAULT_RULE_NAME } = live;
  return { ...compileRule(rule, `${path}.trial`, nameOf), name: `${trialOf}?`, trialOf };
}

/**
 * Returns what gives the states of a rule their meaning: the algorithm in its variant, the version of its format, the
 * window in milliseconds or as a calendar word, and further parts of the algorithm: `gcra2/60000`. A rule in which one of
 * them differs has other counters.
 */
function stateNameOf(rule: Quota, { name, version, leases, keyParts }: Variant<object>): string {
  const window = leases ? [] : [rule.calendar ?? rule.window / 1000];
  return [`${name}${version}`, ...window, ...(keyParts?.(rule) ?? [])].join('/');
}
