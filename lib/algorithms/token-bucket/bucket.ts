import type { Numbers } from '../definition.js';
import { isSlower, mostOwed } from '../rate.js';
import { creditUpTo, instantOf, isSameRefill, type Credited, type Refill } from './refill.js';

/** The stored state of a bucket. See docs/adr/0029-changed-rates.md. */
export interface TokenBucketState extends Credited {
  /** Tokens missing from a full bucket; more than its capacity if there is debt. */
  readonly used: number;
  /** The refill with which the tokens were counted. */
  readonly refill: Refill;
  /**
   * Until when this refill also applies to a rule with a faster one, in microseconds since the epoch; 0: until the
   * bucket is full.
   */
  readonly until: number;
}

type Parameters = Numbers<'limit' | 'window' | 'burst' | 'interval' | 'initial'>;

/** How long a full bucket is kept if a new one would not be full, in microseconds. */
const MEMORY = 86_400e6;

/** Converts a bucket to the rule's own refill; a slower refill still applies until `until`. */
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

/** Returns the bucket at the instant from which the rule's own refill applies instead of a slower one. */
function afterSlow(state: TokenBucketState, own: Parameters): TokenBucketState {
  const { used, refill, until } = state;
  const { missing } = creditUpTo(until, used, state, refill);
  return { used: missing, instant: until, part: 0, refill: own, until: 0 };
}

/** Returns the instant from which at most `used` tokens are missing. */
export function instantWith(used: number, bucket: TokenBucketState, own: Parameters): number {
  const { refill, until } = bucket;
  const instant = instantOf(bucket.used - used, bucket, refill);
  if (until === 0 || instant < until) return instant;
  const rest = afterSlow(bucket, own);
  return instantOf(rest.used - used, rest, own);
}

/** Returns the bucket with the tokens added up to now; `undefined` if the subject has no bucket yet. */
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

/** Returns the bucket with `cost` tokens fewer, up to the maximum debt. */
export function take(bucket: TokenBucketState, cost: number, { burst }: Parameters): TokenBucketState {
  return { ...bucket, used: Math.min(bucket.used + cost, burst + mostOwed(bucket.refill)) };
}

/** Returns the time after which the bucket may be deleted: when it is full, even at a slower refill. */
export function expiryOf(bucket: TokenBucketState, now: number, { burst, initial }: Parameters): number {
  const full = instantOf(bucket.used, bucket, bucket.refill);
  if (initial < burst) return full + MEMORY - now;
  return bucket.used > 0 ? full - now : 0;
}
