import type { AlgorithmName } from '../../lib/algorithms/registry.js';

/** An example rule of an algorithm. Tests, benchmarks and pictures are generated from the examples of all algorithms. */
export interface Example {
  /** The difference from the first example, such as `by the clock`; `''` for the first example. */
  readonly variant: string;
  /** The fields of the rule that differ from `{ algorithm, limit, window }`. */
  readonly rule: (quota: ExampleQuota) => Readonly<Record<string, unknown>>;
  /** Whether a new subject can take `limit` permits at once. @default true */
  readonly allAtOnce?: false;
  /** Whether the state grows with each permit. @default false */
  readonly keepsEntries?: true;
}

/** The limit and the window of an example. */
export interface ExampleQuota {
  readonly limit: number;
  /** Milliseconds. */
  readonly windowMs: number;
}

/**
 * The bound that a client cannot exceed, as far as the algorithm is exact: `limit` permits in any window; in each
 * window, and therefore up to twice as many around a boundary; a burst, and then `limit` permits per window; or
 * `limit` permits at a time.
 */
type Bound = 'any window' | 'each window' | 'rate' | 'at a time';

/** The bound of each algorithm. */
const BOUNDS: Readonly<Record<AlgorithmName, Bound>> = {
  'fixed-window': 'each window',
  'sliding-window-log': 'any window',
  'sliding-window-counter': 'any window',
  'sliding-window-cells': 'any window',
  'token-bucket': 'rate',
  gcra: 'rate',
  'leaky-bucket': 'rate',
  concurrency: 'at a time',
};

/** Returns the bound of an algorithm. */
export function boundOf({ name }: { readonly name: string }): Bound {
  return BOUNDS[name as AlgorithmName];
}

/** The bursts of gcra and of a token bucket. */
const BURSTS: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  {
    variant: 'with a burst',
    rule: ({ limit, windowMs }) => ({ limit: 1, window: `${Math.ceil(windowMs / limit)}ms`, burst: limit }),
  },
  {
    variant: 'with a burst of half the window',
    rule: ({ windowMs }) => ({ burst: `${Math.ceil(windowMs / 2)}ms` }),
    allAtOnce: false,
  },
  { variant: 'with an overdraft', rule: () => ({ overdraft: true }) },
];

/** The examples of each algorithm, the simplest first. */
export const EXAMPLES: Readonly<Record<AlgorithmName, readonly Example[]>> = {
  'fixed-window': [
    { variant: '', rule: () => ({}) },
    { variant: 'by the clock', rule: () => ({ align: 'clock' }) },
    { variant: 'by the calendar', rule: () => ({ window: 'day' }) },
    {
      variant: 'by weeks of a time zone',
      rule: () => ({ window: 'week', timeZone: 'Europe/Berlin', anchor: 3 }),
    },
  ],
  'sliding-window-log': [{ variant: '', rule: () => ({}), keepsEntries: true }],
  'sliding-window-counter': [{ variant: '', rule: () => ({}) }],
  'sliding-window-cells': [
    { variant: '', rule: () => ({}) },
    { variant: '5 cells', rule: () => ({ cells: 5 }) },
  ],
  'token-bucket': [
    ...BURSTS,
    { variant: 'by the interval', rule: () => ({ refill: 'interval' }) },
    { variant: 'half full', rule: ({ limit }) => ({ initial: Math.ceil(limit / 2) }), allAtOnce: false },
    { variant: 'with a warm-up', rule: ({ windowMs }) => ({ warmUp: `${windowMs}ms` }), allAtOnce: false },
  ],
  gcra: BURSTS,
  'leaky-bucket': [
    { variant: '', rule: ({ limit }) => ({ queue: limit - 1 }) },
    {
      variant: 'with delayAfter',
      rule: ({ limit }) => ({ queue: limit - 1, delayAfter: Math.floor(limit / 2) }),
    },
    {
      variant: 'with maxWait',
      rule: ({ limit, windowMs }) => ({
        queue: 2 * limit,
        maxWait: `${Math.max(1, Math.floor((windowMs / limit) * (limit - 1)))}ms`,
      }),
    },
  ],
  concurrency: [
    { variant: '', rule: ({ windowMs }) => ({ lease: `${windowMs}ms`, queue: 100 }), keepsEntries: true },
  ],
};

/** Returns the examples of an algorithm, the simplest first. */
export function examplesOf({ name }: { readonly name: string }): readonly Example[] {
  return EXAMPLES[name as AlgorithmName];
}

/** Returns the rule of an example, with the algorithm and the variant as its name. */
export function ruleOf(
  { name, leases = false }: { readonly name: string; readonly leases?: boolean },
  { variant, rule }: Example,
  quota: ExampleQuota,
): Readonly<Record<string, unknown>> {
  const window = leases ? {} : { window: `${quota.windowMs}ms` };
  return {
    name: `${name} ${variant}`.trim(),
    algorithm: name,
    limit: quota.limit,
    ...window,
    ...rule(quota),
  };
}
