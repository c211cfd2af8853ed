import type { Rule } from '../../lib/index.js';

/** A client that comes as often as a rule lets it, to the microsecond. */
export interface SteadyPace {
  readonly pace: string;
  readonly rule: Rule;
  /** How many permits each hit takes. */
  readonly cost: number;
  /** So many hits find permits before they are due. */
  readonly free: number;
  /** When a hit is due, in microseconds since an instant at which windows of 7 s and of 1 s start. */
  dueAt(hit: number): number;
}

// Each look at a global costs time under Jest, a million of them seconds.
const { ceil, floor, max } = Math;

type Steady = Omit<SteadyPace, 'pace'>;

const threePerSevenSeconds = { limit: 3, window: '7s' } as const;
const third = (count: number) => ceil((count * 7e6) / 3);
const afterThree = { cost: 1, free: 3, dueAt: (hit: number) => third(max(0, hit - 2)) };
const byWindow = { cost: 3, free: 1, dueAt: (hit: number) => hit * 7e6 };

/** None of these comes out even: a third of 7 s is 2,333,333 1/3 us. */
const THREE_PER_SEVEN_SECONDS: readonly Steady[] = [
  { ...byWindow, rule: { ...threePerSevenSeconds, algorithm: 'fixed-window' } },
  { ...byWindow, rule: { ...threePerSevenSeconds, algorithm: 'fixed-window', align: 'clock' } },
  { rule: { ...threePerSevenSeconds, algorithm: 'sliding-window-log' }, cost: 1, free: 3, dueAt: third },
  // The three of the last window weigh 2 a microsecond after its end, 1 a third of a window later, and 0 two thirds later.
  {
    rule: { ...threePerSevenSeconds, algorithm: 'sliding-window-counter' },
    ...{ cost: 1, free: 3, dueAt: (hit) => floor(hit / 3) * 7e6 + floor(((hit % 3) * 7e6) / 3) + 1 },
  },
  // Three come back together, a window after their cell has ended.
  {
    rule: { ...threePerSevenSeconds, algorithm: 'sliding-window-cells', cells: 3 },
    ...{ cost: 3, free: 1, dueAt: (hit) => third(4 * hit) },
  },
  { ...afterThree, rule: { ...threePerSevenSeconds, algorithm: 'token-bucket' } },
  { ...afterThree, rule: { ...threePerSevenSeconds, algorithm: 'gcra' } },
  { ...afterThree, rule: { ...threePerSevenSeconds, algorithm: 'leaky-bucket', queue: 2 } },
];

const million = { limit: 1_000_000, window: '1s' } as const;
const thousand = { limit: 1000, window: '1ms' } as const;
const eachMicrosecond = { cost: 1, free: 1, dueAt: (hit: number) => hit };

/** A thousand a millisecond where the state grows with the limit. */
const A_MILLION_PER_SECOND: readonly Steady[] = [
  { rule: { ...million, algorithm: 'fixed-window' }, cost: 1e6, free: 1, dueAt: (hit) => hit * 1e6 },
  { rule: { ...thousand, algorithm: 'sliding-window-log' }, cost: 1, free: 1000, dueAt: (hit) => hit },
  // 1,000 and 999 in turn: 1,000 of the last window weigh 1,000 at its end, 999 of it leave room for one.
  {
    rule: { ...thousand, algorithm: 'sliding-window-counter' },
    ...{ cost: 1, free: 1000, dueAt: (hit) => hit + floor(hit / 1999) + (hit % 1999 >= 1000 ? 1 : 0) },
  },
  {
    rule: { ...thousand, algorithm: 'sliding-window-cells', cells: 10 },
    ...{ cost: 1000, free: 1, dueAt: (hit) => hit * 1100 },
  },
  { ...eachMicrosecond, rule: { ...million, algorithm: 'token-bucket', burst: 1 } },
  { ...eachMicrosecond, rule: { ...million, algorithm: 'gcra', burst: 1 } },
  { ...eachMicrosecond, rule: { ...million, algorithm: 'leaky-bucket', queue: 0 } },
];

/** Every algorithm at a rate that does not divide evenly, and at the highest that a clock can tell apart. */
export const STEADY_PACES: readonly SteadyPace[] = [
  ...THREE_PER_SEVEN_SECONDS.map((steady) => ({ ...steady, pace: '3 per 7 s' })),
  ...A_MILLION_PER_SECOND.map((steady) => ({ ...steady, pace: '1,000,000 per second' })),
];
