import { toMicroseconds } from '../contracts/clock.js';
import type { MaybePromise } from '../contracts/thenable.js';
import type { HitWait, RuleHit } from '../rules/compiled-rule.js';

/** The longest wait in milliseconds: longer than any queue. */
export const LONGEST_WAIT_MS = 366 * 86_400e3;

/** Returns the hits that a waiting request would have if it arrived now: a live change may have replaced its rules. */
export type CurrentHits = () => MaybePromise<readonly RuleHit[]>;

/** How long a request waits for its turn. */
export interface Wait {
  /** Milliseconds, from 0. */
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Absent if the rules cannot change. */
  readonly current?: CurrentHits | undefined;
  /** Whether permits are charged at once, with a delay, so that only the end of a block is waited for. */
  readonly queues?: boolean;
}

/** Returns the shortest wait of some hits: all of them are taken together. */
export function waitOf(hits: readonly RuleHit[], { signal }: HitWait): Wait {
  return {
    maxWaitMs: Math.min(...hits.map(({ wait }) => wait?.maxWaitMs ?? Infinity)),
    signal: signal(),
    current: async () => (await Promise.all(hits.map(({ wait }) => wait?.current?.() ?? []))).flat(),
  };
}

/** Returns a wait in microseconds: from 1, since 0 would not wait. */
export function maxWaitOf(milliseconds: number): number {
  return Math.max(1, toMicroseconds(Math.min(milliseconds, LONGEST_WAIT_MS)));
}
