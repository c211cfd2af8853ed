import { RateLimitConfigError } from '../../lib/contracts/rate-limit-config.error.js';
import { fieldsOf, type RuleText } from '../../lib/simulate/rule-text.js';
import { compile, fieldNames, textOf } from './rule.js';
import {
  COLUMNS,
  initialValues,
  MOST_IN_COLUMN,
  TRAFFIC,
  type Traffic,
  type TrafficName,
  type TrafficParameter,
} from './traffic.js';

/** All that a playground shows depends on these. */
export interface Settings {
  readonly traffic: Traffic;
  /** Length of the time axis in seconds. */
  readonly seconds: number;
  readonly seed: number;
  /** How many seconds a request holds its permits, if the algorithm has leases. */
  readonly held: number;
  readonly rules: readonly RuleText[];
}

/** The settings of a link, and what of it was not valid and is ignored. */
export interface Reading {
  readonly settings: Settings;
  readonly problems: readonly string[];
}

export const MOST_RULES = 4;

/** The numbers of the settings besides those of the traffic. */
export const NUMBERS = {
  seconds: { label: 'length', unit: 's', least: 5, most: 120, step: 1, initial: 30 },
  seed: { label: 'seed', unit: '', least: 1, most: 999, step: 1, initial: 1 },
  held: { label: 'duration of a request', unit: 's', least: 0.5, most: 20, step: 0.5, initial: 2 },
} as const satisfies Record<string, TrafficParameter>;

const MOST_CHARACTERS = 4000;

const TRAFFIC_AT_FIRST = 'edge' satisfies TrafficName;

/** The double burst of a fixed window beside the log, which allows no more than its limit in any window. */
export const DEFAULTS: Settings = {
  traffic: { kind: TRAFFIC_AT_FIRST, values: initialValues(TRAFFIC_AT_FIRST), drawn: [] },
  seconds: NUMBERS.seconds.initial,
  seed: NUMBERS.seed.initial,
  held: NUMBERS.held.initial,
  rules: ['10/10s fixed-window align=clock', '10/10s sliding-window-log'].map((text) =>
    fieldsOf(text, 'rule'),
  ),
};

/** Returns the settings as the hash of a link, without `#`. */
export function linkOf({ traffic, seconds, seed, held, rules }: Settings): string {
  const link = new URLSearchParams({ traffic: traffic.kind });
  for (const [name, value] of Object.entries(traffic.values)) link.append(name, String(value));
  if (traffic.kind === 'drawn')
    link.append('drawn', traffic.drawn.map((number) => number.toString(36)).join(''));
  for (const [name, value] of Object.entries({ seconds, seed, held })) link.append(name, String(value));
  for (const rule of rules) link.append('rule', textOf(rule));
  return link.toString();
}

/**
 * Reads the hash of a link. Anything may be in it: what is not valid is replaced by its first value, and reported.
 *
 * @param link the hash, without `#`; the settings are the first ones if it is empty
 */
export function readLink(link: string): Reading {
  if (link === '') return { settings: DEFAULTS, problems: [] };
  if (link.length > MOST_CHARACTERS) {
    return { settings: DEFAULTS, problems: [`the link has more than ${MOST_CHARACTERS} characters`] };
  }
  const problems: string[] = [];
  const given = new URLSearchParams(link);
  const number = (name: string, parameter: TrafficParameter) => numberOf(name, parameter, given, problems);
  const kind = kindOf(given.get('traffic'), problems);
  const parameters = Object.entries<TrafficParameter>(TRAFFIC[kind].parameters);
  const settings: Settings = {
    traffic: {
      kind,
      values: Object.fromEntries(parameters.map(([name, parameter]) => [name, number(name, parameter)])),
      drawn: kind === 'drawn' ? drawnOf(given.get('drawn') ?? '', problems) : [],
    },
    seconds: number('seconds', NUMBERS.seconds),
    seed: number('seed', NUMBERS.seed),
    held: number('held', NUMBERS.held),
    rules: rulesOf(given.getAll('rule'), problems),
  };
  return { settings, problems };
}

function kindOf(given: string | null, problems: string[]): TrafficName {
  if (given !== null && Object.hasOwn(TRAFFIC, given)) return given as TrafficName;
  if (given !== null) problems.push(`traffic: allowed: ${Object.keys(TRAFFIC).join(', ')}`);
  return DEFAULTS.traffic.kind;
}

function numberOf(
  name: string,
  { least, most, initial }: TrafficParameter,
  given: URLSearchParams,
  problems: string[],
): number {
  const text = given.get(name);
  if (text === null) return initial;
  const value = /^\d{1,4}([.]\d{1,2})?$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  problems.push(`${name}: allowed: ${least} to ${most}`);
  return initial;
}

function drawnOf(text: string, problems: string[]): readonly number[] {
  const drawn = Array.from(text, (digit) => parseInt(digit, 36));
  if (drawn.length === COLUMNS && drawn.every((number) => number <= MOST_IN_COLUMN)) return drawn;
  problems.push(`drawn: allowed: ${COLUMNS} digits from 0 to ${MOST_IN_COLUMN.toString(36)}`);
  return new Array<number>(COLUMNS).fill(0);
}

function rulesOf(texts: readonly string[], problems: string[]): readonly RuleText[] {
  if (texts.length > MOST_RULES) problems.push(`rule: allowed: at most ${MOST_RULES}`);
  const rules = texts.slice(0, MOST_RULES).flatMap((text) => {
    try {
      const rule = fieldsOf(text, 'rule');
      compile(rule);
      const names = ['algorithm', ...fieldNames(rule)];
      const unknown = Object.keys(rule).filter((name) => !names.includes(name));
      if (unknown.length === 0) return [rule];
      problems.push(`rule "${text}".${unknown[0]!}: has no effect here; remove it`);
    } catch (error) {
      if (!(error instanceof RateLimitConfigError)) throw error;
      problems.push(...error.problems);
    }
    return [];
  });
  return rules.length > 0 ? rules : DEFAULTS.rules;
}
