import { isFields } from '../../contracts/fields.js';
import { RATE_S } from '../snapshot.js';
import { entryOf } from '../../contracts/entry-of.js';

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;
/** Number of minutes that the page shows. */
const KEPT = 60;
/** Maximum number of rules with figures in a minute. Results of other rules are added up. */
export const MOST_RULES = 100;

/** Allowed and denied requests. */
type Outcomes = [allowed: number, denied: number];

/** What was counted in a minute, in the form in which processes share it. */
export type MinuteCounts = ReturnType<typeof emptyMinute>;

export function emptyMinute(minute: number) {
  return {
    /** Minutes since the epoch. */
    minute,
    /** Requests, and how many of them the fallback decided. */
    all: [0, 0, 0] as [allowed: number, denied: number, fallback: number],
    /** Results by rule. */
    rules: Object.create(null) as Record<string, Outcomes>,
    /** Results of other rules. */
    others: [0, 0] as Outcomes,
  };
}

/** Counts decisions by minute, for the last hour. */
export class Minutes {
  /** The minutes that were counted, the oldest first; the last one is not over. */
  kept: readonly MinuteCounts[] = [];

  /** Returns the minute of a second. After the clock was set back, that is the last minute. */
  at(second: number): MinuteCounts {
    const minute = Math.floor(second / 60);
    const last = this.kept.at(-1);
    if (last && last.minute >= minute) return last;
    const next = emptyMinute(minute);
    this.kept = [...this.kept.slice(1 - KEPT), next];
    return next;
  }

  /** Counts a request. */
  add(second: number, isAllowed: boolean, isFallback: boolean): void {
    const { all } = this.at(second);
    all[isAllowed ? 0 : 1] += 1;
    if (isFallback) all[2] += 1;
  }

  /** Counts the result of a rule. */
  addResult(second: number, rule: string, isAllowed: boolean): void {
    const { rules, others } = this.at(second);
    const hasRoom = rule in rules || Object.keys(rules).length < MOST_RULES;
    const counts = hasRoom ? (rules[rule] ??= [0, 0]) : others;
    counts[isAllowed ? 0 : 1] += 1;
  }

  /** Drops a minute and those before, such as when other processes have them. */
  drop(minute: number): void {
    this.kept = this.kept.filter((each) => each.minute > minute);
  }
}

/** Returns the minutes of the last hour in lists of them, added up, the oldest first. */
export function mergedMinutes(parts: readonly MinuteCounts[], last: number): readonly MinuteCounts[] {
  const merged = new Map<number, MinuteCounts>();
  for (const { minute, all, others, rules } of parts) {
    if (minute <= last - KEPT || minute > last) continue;
    const sum = entryOf(merged, minute, () => emptyMinute(minute));
    addTo(sum.all, all);
    addTo(sum.others, others);
    for (const [rule, counts] of Object.entries(rules)) addTo((sum.rules[rule] ??= [0, 0]), counts);
  }
  return [...merged.values()].sort((one, other) => one.minute - other.minute);
}

/** Returns the minute in a value that another process may have written; `undefined` if there is none. */
export function readMinute(value: unknown, minute?: number): MinuteCounts | undefined {
  if (!isFields(value) || !isFields(value['rules'])) return undefined;
  const read = { minute, ...value } as MinuteCounts;
  const lists = [read.all, read.others, ...Object.values(read.rules)] as unknown[];
  const isRight = Number.isInteger(read.minute) && lists.every(isCounts);
  return isRight ? read : undefined;
}

function isCounts(value: unknown): boolean {
  return Array.isArray(value) && value.length >= 2 && value.every(Number.isFinite);
}

function addTo(sum: number[], part: readonly number[]): void {
  for (const index of sum.keys()) sum[index]! += part[index] ?? 0;
}

/** The minutes of the last hour, in minutes since the epoch. */
export function lastMinutes(last: number): readonly number[] {
  return Array.from({ length: KEPT }, (_, index) => last - KEPT + 1 + index);
}

/** Counts events for each of the last seconds. */
export class Seconds {
  private readonly counts: Uint32Array;
  private last = 0;

  /** @param kept number of seconds that are kept, including the current one */
  constructor(private readonly kept: number) {
    this.counts = new Uint32Array(kept);
  }

  /** Counts an event. One of an earlier second than the last, after the clock was set back, counts for the last. */
  add(second: number): void {
    if (second > this.last) this.advance(second);
    this.counts[this.last % this.kept]! += 1;
  }

  /** Returns the counts of a number of seconds before a second, the oldest first. */
  before(second: number, length: number): number[] {
    return Array.from({ length }, (_, index) => this.at(second - length + index));
  }

  /** Returns the sum of the counts of the last 10 seconds before a second. */
  sum(second: number): number {
    return sum(this.before(second, RATE_S));
  }

  private at(second: number): number {
    return second > this.last || second <= this.last - this.kept ? 0 : this.counts[second % this.kept]!;
  }

  private advance(second: number): void {
    const first = Math.max(this.last + 1, second - this.kept + 1);
    for (let each = first; each <= second; each += 1) this.counts[each % this.kept] = 0;
    this.last = second;
  }
}

/** Durations below are in the first bucket. */
const SMALLEST_MS = 0.01;

/** Buckets for each doubling of the duration: a bound is at most 19 % above a duration in its bucket. */
const PER_DOUBLING = 4;

/** Up to 10 s. */
const BUCKETS = 80;

/** Counts of durations by bucket: the index and the count of each bucket that has some. */
type DurationCounts = readonly (readonly [bucket: number, count: number])[];

/** Counts durations for each of the last 10 seconds, in buckets whose bounds grow by 2^(1/4). */
export class Durations {
  private readonly buckets = Array.from({ length: BUCKETS }, () => new Seconds(RATE_S));

  add(second: number, durationMs: number): void {
    this.buckets[bucketOf(durationMs)]!.add(second);
  }

  /** Returns the durations of the last 10 seconds before a second. */
  before(second: number): DurationCounts {
    const counts = this.buckets.map((bucket, index) => [index, bucket.sum(second)] as const);
    return counts.filter(([, count]) => count > 0);
  }
}

/** Returns the upper bound of the bucket that has a percentile, in milliseconds; `undefined` without durations. */
export function percentile(counts: DurationCounts, share: number): number | undefined {
  let left = Math.ceil(sum(counts.map(([, count]) => count)) * share);
  for (const [bucket, count] of [...counts].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return SMALLEST_MS * 2 ** (bucket / PER_DOUBLING);
  }
  return undefined;
}

function bucketOf(durationMs: number): number {
  if (!(durationMs > SMALLEST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(durationMs / SMALLEST_MS) * PER_DOUBLING));
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
