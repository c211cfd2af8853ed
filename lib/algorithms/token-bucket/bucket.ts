import type { Numbers } from '../definition.js';
import { isSlower, mostOwed } from '../rate.js';
import { creditUpTo, instantOf, isSameRefill, type Credited, type Refill } from './refill.js';

/** What is stored of a bucket, see docs/adr/0029-changed-rates.md. */
export interface TokenBucketState extends Credited {
  /** Tokens that are missing to a full bucket; more than it holds if there is debt. */
  readonly used: number;
  /** How tokens came when it was counted. */
  readonly refill: Refill;
  /** Until when a rule whose tokens come faster goes by this refill, in microseconds since the epoch; 0: until it is full. */
  readonly until: number;
}

type Parameters = Numbers<'limit' | 'window' | 'burst' | 'interval' | 'initial'>;

/** How long a full bucket is remembered, where a new one would not be full, in microseconds. */
const MEMORY = 86_400e6;

/** Takes up what a rule whose tokens come alike, faster or more slowly has left; of a slower one, its refill stays. */
function adopt(state: TokenBucketState, now: number, own: Parameters): TokenBucketState {
  const { refill } = state;
  if (isSameRefill(refill, own)) return state.until === 0 ? state : { ...state, until: 0 };
  if (isSlower(own, refill)) {
    const { missing, credited } = creditUpTo(now, state.used, state, refill);
    const instant = credited.part > 0 ? credited.instant + 1 : credited.instant;
    return { used: missing, instant, part: 0, refill: own, until: 0 };
  }
  const until = state.until === 0 ? instantOf(state.used, state, refill) : state.until;
  return now < until ? { ...state, until } : afterSlow({ ...state, until }, own);
}

/** The bucket when its slower refill has counted for long enough. */
function afterSlow(state: TokenBucketState, own: Parameters): TokenBucketState {
  const { used, refill, until } = state;
  const { missing } = creditUpTo(until, used, state, refill);
  return { used: missing, instant: until, part: 0, refill: own, until: 0 };
}

/** The instant at which no more than so many tokens are missing. */
export function instantWith(used: number, bucket: TokenBucketState, own: Parameters): number {
  const { refill, until } = bucket;
  const instant = instantOf(bucket.used - used, bucket, refill);
  if (until === 0 || instant < until) return instant;
  const rest = afterSlow(bucket, own);
  return instantOf(rest.used - used, rest, own);
}

/** The bucket as it is now; `undefined` if it is a new one. */
export function fill(
  state: TokenBucketState | undefined,
  now: number,
  own: Parameters,
): TokenBucketState | undefined {
  if (!state) return undefined;
  const bucket = adopt(state, now, own);
  if (own.initial < own.burst && now >= instantWith(0, bucket, own) + MEMORY) return undefined;
  const { missing, credited } = creditUpTo(now, bucket.used, bucket, bucket.refill);
  return { used: missing, ...credited, refill: bucket.refill, until: bucket.until };
}

/** The bucket with so many tokens less, as far as they can be owed. */
export function take(bucket: TokenBucketState, cost: number, { burst }: Parameters): TokenBucketState {
  return { ...bucket, used: Math.min(bucket.used + cost, burst + mostOwed(bucket.refill)) };
}

/** When the bucket may be forgotten: when it is full by whatever rule. */
export function expiryOf(bucket: TokenBucketState, now: number, { burst, initial }: Parameters): number {
  const full = instantOf(bucket.used, bucket, bucket.refill);
  if (initial < burst) return full + MEMORY - now;
  return bucket.used > 0 ? full - now : 0;
}
