import { ruleOf } from '../support/example-rule.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { rulesOfOthers } from '../support/examples.js';

/** A request that a rule has allowed: permits at an instant, in milliseconds. */
export interface Allowed {
  readonly at: number;
  readonly permits: number;
}

/** A bound of a rule: the most permits that it may allow within a time. */
export interface Bounded {
  readonly name: string;
  /** @param limit permits per window */
  readonly rule: (limit: number) => AnyRule;
  /**
   * @param most max(limit, processes): the limit of all processes together
   * @param capacity the same for the permits available at once: the limit unless the rule has a burst
   */
  readonly within: (milliseconds: number, most: number, capacity: number) => number;
  /** Whether all requests have a cost of 1: a queue lets a request of several permits continue at once. */
  readonly one?: boolean;
  /** Whether a request counts when it is allowed, and not when its delay is over. */
  readonly asAllowed?: boolean;
  /** The permits available at once, if that is not the limit. */
  readonly capacity?: (limit: number) => number;
}

export const WINDOW_MS = 10_000;
const window = '10s';

/** Any two instants that are less than one window apart. */
const anyWindow = (milliseconds: number, most: number): number =>
  milliseconds < WINDOW_MS ? most : most * (1 + Math.ceil((milliseconds + 1) / WINDOW_MS));

/** The end of one window and the start of the next. */
const eachWindow = (milliseconds: number, most: number): number =>
  most * (milliseconds === 0 ? 1 : 1 + Math.ceil((milliseconds + 1) / WINDOW_MS));

const atARate = (milliseconds: number, most: number, capacity: number): number =>
  capacity + (most * (milliseconds + 2)) / WINDOW_MS; // Delays are rounded up to milliseconds.

const WITHIN: Readonly<Record<string, Bounded['within']>> = {
  'any window': anyWindow,
  'each window': eachWindow,
  rate: atARate,
};

const half = (limit: number): number => Math.max(1, Math.floor(limit / 2));

const KNOWN: readonly Bounded[] = [
  {
    name: 'fixed-window',
    rule: (limit) => ({ limit, window, algorithm: 'fixed-window' }),
    within: eachWindow,
  },
  {
    name: 'fixed-window by the clock',
    rule: (limit) => ({ limit, window, algorithm: 'fixed-window', align: 'clock' }),
    within: eachWindow,
  },
  {
    name: 'a calendar day',
    rule: (limit) => ({ limit, window: 'day', algorithm: 'fixed-window', timeZone: 'Europe/Berlin' }),
    within: (_milliseconds, most) => most,
  },
  {
    name: 'sliding-window-log',
    rule: (limit) => ({ limit, window, algorithm: 'sliding-window-log' }),
    within: anyWindow,
  },
  {
    name: 'sliding-window-counter',
    rule: (limit) => ({ limit, window, algorithm: 'sliding-window-counter' }),
    within: eachWindow,
  },
  {
    name: 'sliding-window-cells',
    rule: (limit) => ({ limit, window, algorithm: 'sliding-window-cells', cells: 7 }),
    within: anyWindow,
  },
  { name: 'gcra', rule: (limit) => ({ limit, window, algorithm: 'gcra' }), within: atARate },
  {
    name: 'gcra with a small burst',
    rule: (limit) => ({ limit, window, algorithm: 'gcra', burst: 1 }),
    capacity: () => 1,
    within: atARate,
  },
  {
    name: 'token-bucket with a large burst',
    rule: (limit) => ({ limit, window, algorithm: 'token-bucket', burst: 3 * limit, initial: limit }),
    capacity: (limit) => 3 * limit,
    within: atARate,
  },
  {
    name: 'token-bucket refilled in intervals',
    rule: (limit) => ({ limit, window, algorithm: 'token-bucket', refill: 'interval' }),
    within: (milliseconds, most, capacity) => capacity + most * Math.ceil(milliseconds / WINDOW_MS),
  },
  {
    name: 'token-bucket with a warm-up',
    rule: (limit) => ({ limit, window, algorithm: 'token-bucket', warmUp: '5s' }),
    within: atARate,
  },
  {
    name: 'leaky-bucket, by when requests go on',
    one: true,
    rule: (limit) => ({ limit, window, algorithm: 'leaky-bucket' }),
    capacity: () => 1,
    within: atARate,
  },
  {
    name: 'leaky-bucket, by when requests are allowed',
    asAllowed: true,
    rule: (limit) => ({ limit, window, algorithm: 'leaky-bucket' }),
    capacity: (limit) => limit + 1,
    within: atARate,
  },
  {
    name: 'leaky-bucket, half of which goes at once',
    one: true,
    rule: (limit) => ({ limit, window, algorithm: 'leaky-bucket', queue: limit, delayAfter: half(limit) }),
    capacity: (limit) => half(limit) + 1,
    within: atARate,
  },
  {
    name: 'a rule with a block',
    rule: (limit) => ({ limit, window, algorithm: 'sliding-window-log', block: '3s' }),
    within: anyWindow,
  },
  {
    name: 'permits taken ahead',
    rule: (limit) => ({
      limit,
      window,
      algorithm: 'gcra',
      ...(limit >= 4 && { prefetch: { permits: Math.floor(limit / 2), ttl: '1s' } }),
    }),
    within: atARate,
  },
];

/** The bound of an algorithm that is not listed above, from its definition. */
const OTHERS: readonly Bounded[] = rulesOfOthers(
  KNOWN.map(({ name }) => name.split(/[ ,]/)[0]!),
  { limit: 1, windowMs: WINDOW_MS },
)
  .filter(({ definition }) => !definition.leases)
  .map(({ name, definition, example }) => ({
    name,
    rule: (limit) => ruleOf(definition, example, { limit, windowMs: WINDOW_MS }) as unknown as AnyRule,
    within: WITHIN[definition.exact === false ? 'each window' : definition.bound]!,
  }));

export const EVERY_KIND: readonly Bounded[] = [...KNOWN, ...OTHERS];

/** Returns the first interval in which more than the bound was allowed; `undefined` if there is none. */
export function firstExcess(
  allowed: readonly Allowed[],
  within: (milliseconds: number) => number,
): string | undefined {
  const inOrder = allowed.toSorted((a, b) => a.at - b.at);
  for (const [first, { at: from }] of inOrder.entries()) {
    let permits = 0;
    for (const { at, permits: more } of inOrder.slice(first)) {
      permits += more;
      const most = within(at - from);
      if (permits > most + 1e-9) return `${permits} permits within ${at - from} ms, at most ${most}`;
    }
  }
  return undefined;
}
