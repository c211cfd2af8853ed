import { isFields } from '../../contracts/fields.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import { algorithmOf, OPTION_NAMES } from '../../rules/rule-fields.js';
import {
  fromLayer,
  layerProblems,
  overlay,
  readLayer,
  ROUTE_FIELDS,
  type RuleFields,
} from './rule-layers.js';

/** The fields besides the options of algorithms that can change while the application runs. */
const LIVE_FIELDS = [
  'limit',
  'window',
  'cost',
  'block',
  'algorithm',
  'mode',
  'trial',
  'onStoreError',
  'plans',
] as const;

/** An option that decides which counters a rule has. */
const INHERIT = 'inherit';

const LIVE: readonly string[] = [...LIVE_FIELDS, ...OPTION_NAMES].filter((name) => name !== INHERIT);

/** Whether a live change can set a field. */
export function isLiveField(field: string): boolean {
  return LIVE.includes(field);
}

/** What a live layer makes of a rule: its fields, or the problems of the layer. */
export interface LiveResult {
  readonly fields: RuleFields;
  readonly problems: readonly string[];
}

/**
 * Applies a live layer to a rule, over all layers of the code.
 *
 * @param path the name of the layer in messages
 */
export function withLayer(rule: RuleFields, layer: unknown, path: string): LiveResult {
  if (!isFields(layer)) {
    return { fields: rule, problems: [problem(path, layer, 'an object with fields of a rule')] };
  }
  const fixed = Object.keys(layer).filter((field) => isFixed(field));
  const functions = Object.keys(layer).filter((field) => typeof layer[field] === 'function');
  const problems = [
    ...fixed.map(
      (field) =>
        `${path}.${field}: only in the code; live changes have ${LIVE_FIELDS.join(', ')} and options of the algorithm`,
    ),
    ...functions.map((field) => `${path}.${field}: got a function; a live change has values only`),
  ];
  if (problems.length > 0) return { fields: rule, problems };
  const algorithm = layer['algorithm'] ?? rule['algorithm'];
  const read = readLayer(layer, algorithm);
  problems.push(...layerProblems((field) => `${path}.${field}`, read, algorithm));
  if (problems.length > 0) return { fields: rule, problems };
  if (isHeld(algorithm) !== isHeld(rule['algorithm'])) {
    problems.push(
      `${path}.algorithm: a live change cannot turn a rule into concurrency, or from it into another`,
    );
  }
  return { fields: fromLayer(overlay(rule, read), rule, read, () => path), problems };
}

/** Whether a field of a rule belongs to the code: who is counted, and where. */
function isFixed(field: string): boolean {
  return !LIVE.includes(field) && (field === INHERIT || Object.hasOwn(ROUTE_FIELDS, field));
}

function isHeld(algorithm: unknown): boolean {
  return algorithmOf(algorithm as string | undefined)?.leases === true;
}
