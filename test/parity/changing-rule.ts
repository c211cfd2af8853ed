import fc from 'fast-check';
import { ruleOf } from '../../lib/algorithms/example.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule, Counter } from '../../lib/index.js';
import { rulesOfOthers } from '../support/examples.js';

/** The fields of a rule in which two versions of an application may differ. */
export interface Version {
  readonly limit: number;
  /** Seconds. */
  readonly window: number;
  readonly burst: number;
  readonly cells: number;
  readonly isAligned: boolean;
  readonly isInterval: boolean;
  readonly unit: 'day' | 'week' | 'month';
}

export const versions: fc.Arbitrary<Version> = fc.record({
  limit: fc.integer({ min: 1, max: 12 }),
  window: fc.constantFrom(1, 2, 3, 7, 10, 60, 3600),
  burst: fc.integer({ min: 1, max: 12 }),
  cells: fc.integer({ min: 1, max: 12 }),
  isAligned: fc.boolean(),
  isInterval: fc.boolean(),
  unit: fc.constantFrom('day', 'week', 'month'),
});

/** One request of a story. */
export interface Hit {
  /** The version of the application that receives the request. */
  readonly version: number;
  /**
   * The time since the last request in twelfths of the shortest window, or until the wait of the last denial has
   * passed.
   */
  readonly after: number | 'retry' | 'long';
  readonly cost: number;
}

const hits = fc.array(
  fc.record({
    version: fc.nat(2),
    after: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 6, arbitrary: fc.nat(14) },
      { weight: 3, arbitrary: fc.constant('retry' as const) },
      { weight: 1, arbitrary: fc.constant('long' as const) },
    ),
    cost: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 4 })),
  }),
  { minLength: 40, maxLength: 90, size: 'max' },
);

/** Versions that run side by side, and the requests that they receive. */
export const story = fc.record({ deployed: fc.tuple(versions, versions, versions), hits });

const DAY = 86_400e6;
const UNITS = { day: DAY, week: 7 * DAY, month: 31 * DAY };

/** Returns the length of a version's window, in microseconds. */
export function lengthOf(name: string, { window, unit }: Version): number {
  return name.startsWith('calendar window') ? UNITS[unit] : window * 1e6;
}

/** The rules that a version may have with each algorithm, by their name in a report. */
const KNOWN: Record<string, (version: Version) => AnyRule> = {
  'fixed-window': ({ limit, window, isAligned }) => {
    return {
      algorithm: 'fixed-window',
      limit,
      window: `${window}s`,
      align: isAligned ? 'clock' : 'first-hit',
    };
  },
  'calendar window': ({ limit, unit }) => ({ algorithm: 'fixed-window', limit, window: unit }),
  'sliding-window-log': ({ limit, window }) => {
    return { algorithm: 'sliding-window-log', limit, window: `${window}s` };
  },
  'sliding-window-counter': ({ limit, window }) => {
    return { algorithm: 'sliding-window-counter', limit, window: `${window}s` };
  },
  'sliding-window-cells': ({ limit, window, cells }) => {
    return { algorithm: 'sliding-window-cells', limit, window: `${window}s`, cells: Math.min(cells, limit) };
  },
  'token-bucket': ({ limit, window, burst, isInterval }) => {
    const refill = isInterval ? 'interval' : 'continuous';
    return { algorithm: 'token-bucket', limit, window: `${window}s`, burst, refill };
  },
  'token-bucket that warms up': ({ limit, window, burst }) => {
    return { algorithm: 'token-bucket', limit, window: `${window}s`, warmUp: `${burst}s` };
  },
  gcra: ({ limit, window, burst }) => ({ algorithm: 'gcra', limit, window: `${window}s`, burst }),
  'gcra with share': ({ limit, window, burst }) => {
    return { algorithm: 'gcra', limit, window: `${window}s`, burst, share: {} };
  },
  'leaky-bucket': ({ limit, window, burst }) => {
    return { algorithm: 'leaky-bucket', limit, window: `${window}s`, queue: burst, delayAfter: burst };
  },
  concurrency: ({ limit, window }) => ({ algorithm: 'concurrency', limit, lease: `${window}s` }),
};

/** The same with proportional inheritance, where the algorithm has it. */
const PROPORTIONAL = Object.fromEntries(
  Object.entries(KNOWN).flatMap(([name, ruleOf]) => {
    const inherits = name === 'calendar window' || 'inherit' in (optionsOf(name) ?? {});
    if (!inherits) return [];
    const inProportion = (version: Version) => {
      const { burst: _burst, ...rule } = ruleOf(version);
      return { ...rule, inherit: 'proportional' } as AnyRule;
    };
    return [[`${name} in proportion`, inProportion]];
  }),
);

function optionsOf(name: string): object | undefined {
  return (algorithms as Readonly<Record<string, { readonly options: object } | undefined>>)[name]?.options;
}

/**
 * The rules that a version may have with each algorithm; for algorithms that are not listed above, the first example.
 */
export const RULES_OF: Readonly<Record<string, (version: Version) => AnyRule>> = {
  ...KNOWN,
  ...PROPORTIONAL,
  ...Object.fromEntries(
    rulesOfOthers(Object.keys(KNOWN), { limit: 1, windowMs: 1000 }).map(({ definition, example }) => [
      definition.name,
      ({ limit, window }: Version) =>
        ruleOf(definition, example, { limit, windowMs: window * 1000 }) as unknown as AnyRule,
    ]),
  ),
};

export function counterOf(key: string, rule: AnyRule, now: number): Counter {
  const { algorithm, parameters, parametersAt } = compileRule(rule);
  return { key, algorithm, parameters: parametersAt?.(now / 1000) ?? parameters };
}
