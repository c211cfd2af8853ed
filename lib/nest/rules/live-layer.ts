import { isFields } from '../../contracts/fields.js';
import {
  didYouMean,
  problem,
  quoted,
  rejectAny,
  rejectValue,
} from '../../contracts/rate-limit-config.error.js';
import { algorithmOf, fieldProblems, OPTION_NAMES, RULE_FIELDS } from '../../rules/rule-fields.js';
import { readLayer, ROUTE_FIELDS, type RuleFields, withLayer } from './rule-layers.js';

const { limit, window, cost, block, algorithm, mode, maxWait, trial, onStoreError } = RULE_FIELDS;
const plans = ROUTE_FIELDS['plans']!;

/** The checks of the fields that can change while the application runs, besides the options of algorithms: no functions. */
const LIVE_CHECKS = { limit, window, cost, block, algorithm, mode, maxWait, trial, onStoreError, plans };

const LIVE_FIELDS = Object.keys(LIVE_CHECKS);

const LIVE = [...LIVE_FIELDS, ...OPTION_NAMES];

/** Whether a live change can set a field. */
export function isLiveField(field: string): boolean {
  return LIVE.includes(field);
}

/**
 * Applies a live layer to a rule, over all layers of the code.
 *
 * @param path the name of the layer in messages
 * @throws RateLimitConfigError if the layer does not fit the rule
 */
export function withLiveLayer(rule: RuleFields, layer: unknown, path: string): RuleFields {
  if (!isFields(layer)) rejectValue(path, layer, A_LAYER);
  // Fields that belong to the code: who is counted, and where.
  const fixed = Object.keys(layer).filter(
    (each) => !LIVE.includes(each) && Object.hasOwn(ROUTE_FIELDS, each),
  );
  rejectAny([
    ...fixed.map(
      (field) =>
        `${path}.${field}: only in the code, for the whole rule; plans and live changes have ${LIVE_FIELDS.join(', ')} and options of the algorithm`,
    ),
    ...functionsIn(layer, path).map((at) => `${at}: got a function; plans and live changes have values only`),
  ]);
  const algorithm = layer['algorithm'] ?? rule['algorithm'];
  const read = readLayer(layer, algorithm);
  rejectAny([
    ...fieldProblems((field) => `${path}.${field}`, read, LIVE_CHECKS, algorithm),
    ...unknownPlans(rule, read, path),
    ...unusedWait(rule, read, path),
  ]);
  const isTurned = isHeld(algorithm) !== isHeld(rule['algorithm']);
  rejectAny(isTurned ? [`${path}.algorithm: ${TURNED}`] : []);
  return withLayer(rule, read, () => path);
}

const A_LAYER = 'an object with fields of a rule';

const TURNED = 'a live change cannot turn a rule into concurrency, or from it into another';

/** Returns the paths of the functions in a layer. JSON would drop them. */
function functionsIn(value: unknown, path: string, outer: readonly unknown[] = []): readonly string[] {
  if (typeof value === 'function') return [path];
  if (!isFields(value) || outer.includes(value)) return [];
  const within = [...outer, value];
  return Object.entries(value).flatMap(([field, each]) => functionsIn(each, `${path}.${field}`, within));
}

/** Plans are in the code: a change that names another one has a typing error, and would change nothing. */
function unknownPlans(rule: RuleFields, layer: RuleFields, path: string): readonly string[] {
  const named = layer['plans'];
  if (!isFields(named)) return [];
  const known = isFields(rule['plans']) ? Object.keys(rule['plans']) : [];
  const allowed = quoted(known) || 'none, since the rule in the code has no plans';
  return Object.keys(named)
    .filter((name) => !known.includes(name))
    .map((name) => problem(`${path}.plans`, name, allowed, didYouMean(name, known)));
}

/** Requests of the other algorithms wait only where the code says so: on methods of providers. */
function unusedWait(rule: RuleFields, layer: RuleFields, path: string): readonly string[] {
  const { delays, leases } = algorithmOf(layer['algorithm'] ?? rule['algorithm']) ?? {};
  if (layer['maxWait'] === undefined || rule['maxWait'] !== undefined || delays || leases) return [];
  const allowed = 'none, unless the rule in the code has one, or is of concurrency or leaky-bucket';
  return [problem(`${path}.maxWait`, layer['maxWait'], allowed)];
}

function isHeld(algorithm: unknown): boolean {
  return algorithmOf(algorithm)?.leases === true;
}
