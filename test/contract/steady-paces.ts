import type { Rule } from '../../lib/index.js';

/** A client that sends requests exactly as often as a rule allows, to the microsecond. */
export interface SteadyPace {
  readonly pace: string;
  readonly rule: Rule;
  /** Number of permits of each hit. */
  readonly cost: number;
  /** The number of first hits that find permits available before they are due. */
  readonly free: number;
  /** When a hit is due, in microseconds after an instant at which windows of 7 s and of 1 s start. */
  dueAt(hit: number): number;
}

// Copied to a local name, because access to a global is slow under Jest: seconds for a million of them.
const { ceil, floor, max } = Math;

type Steady = Omit<SteadyPace, 'pace'>;

const threePerSevenSeconds = { limit: 3, window: '7s' } as const;
const third = (count: number) => ceil((count * 7e6) / 3);
const afterThree = { cost: 1, free: 3, dueAt: (hit: number) => third(max(0, hit - 2)) };
const byWindow = { cost: 3, free: 1, dueAt: (hit: number) => hit * 7e6 };

/** None of these divides evenly: a third of 7 s is 2,333,333 1/3 µs. */
const THREE_PER_SEVEN_SECONDS: readonly Steady[] = [
  { ...byWindow, rule: { ...threePerSevenSeconds, algorithm: 'fixed-window' } },
  { ...byWindow, rule: { ...threePerSevenSeconds, algorithm: 'fixed-window', align: 'clock' } },
  { rule: { ...threePerSevenSeconds, algorithm: 'sliding-window-log' }, cost: 1, free: 3, dueAt: third },
  // The three permits of the previous window weigh 2 one microsecond after its end, 1 a third of a window later, and
  // 0 two thirds later.
  {
    rule: { ...threePerSevenSeconds, algorithm: 'sliding-window-counter' },
    ...{ cost: 1, free: 3, dueAt: (hit) => floor(hit / 3) * 7e6 + floor(((hit % 3) * 7e6) / 3) + 1 },
  },
  // Three permits become available together, one window after the end of their cell.
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

/** A thousand per millisecond if the state grows with the limit. */
const A_MILLION_PER_SECOND: readonly Steady[] = [
  { rule: { ...million, algorithm: 'fixed-window' }, cost: 1e6, free: 1, dueAt: (hit) => hit * 1e6 },
  { rule: { ...thousand, algorithm: 'sliding-window-log' }, cost: 1, free: 1000, dueAt: (hit) => hit },
  // 1,000 and 999 in turn: at the end of a window, 1,000 permits of it weigh 1,000; 999 of them leave room for one.
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

/**
 * Every algorithm with a rate that does not divide evenly, and with the highest rate that a clock can distinguish.
 */
export const STEADY_PACES: readonly SteadyPace[] = [
  ...THREE_PER_SEVEN_SECONDS.map((steady) => ({ ...steady, pace: '3 per 7 s' })),
  ...A_MILLION_PER_SECOND.map((steady) => ({ ...steady, pace: '1,000,000 per second' })),
];
