import { DURATION_ALLOWED, parseDuration } from '../../contracts/duration.js';
import { burstOption, checkRate } from '../burst.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { permitsIn, spanOf, type Span } from '../rate.js';
import rateLua from '../rate.lua.js';
import type { TokenBucketOptions } from './token-bucket-options.js';
import lua from './token-bucket.lua.js';
import { warmUp } from './warm-up.js';

export type { TokenBucketOptions };

export interface TokenBucketState {
  /** Whole tokens in the bucket; below 0 when there is debt. */
  readonly tokens: number;
  /** The instant up to which they have been credited, in microseconds. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

type Parameter = 'limit' | 'window' | 'burst' | 'interval' | 'initial';
type TokenBucketParameters = Readonly<Record<Parameter, number>>;

/** How long a full bucket is remembered, where a new one would not be full, in microseconds. */
const MEMORY = 86_400e6;

/** How many whole tokens come within a span; 0 for a negative one. */
function tokensIn(whole: number, part: number, { limit, window, interval }: TokenBucketParameters): number {
  if (interval === 0) return permitsIn(whole, part, limit, window);
  return Math.max(0, Math.floor(whole / window)) * limit;
}

/** The span in which `tokens` come. */
function spanFor(tokens: number, { limit, window, interval }: TokenBucketParameters): Span {
  if (interval === 0) return spanOf(tokens, limit, window);
  return { whole: Math.ceil(tokens / limit) * window, part: 0 };
}

/** The instant at which `missing` more tokens have come. */
function instantOf(
  missing: number,
  { instant, part }: TokenBucketState,
  parameters: TokenBucketParameters,
): number {
  if (missing <= 0) return instant;
  const span = spanFor(missing, parameters);
  return instant + span.whole + Math.ceil((part + span.part) / parameters.limit);
}

/** The bucket as it is now; `undefined` if it is a new one. */
function fill(
  state: TokenBucketState | undefined,
  now: number,
  parameters: TokenBucketParameters,
): TokenBucketState | undefined {
  if (!state) return undefined;
  const { limit, burst, initial } = parameters;
  const { tokens } = state;
  let { instant } = state;
  let part = Math.min(state.part, limit - 1);
  if (initial < burst && now >= instantOf(burst - tokens, { tokens, instant, part }, parameters) + MEMORY) {
    return undefined;
  }

  let elapsed = now - instant;
  let elapsedPart = 0 - part;
  if (elapsedPart < 0) {
    elapsed -= 1;
    elapsedPart += limit;
  }
  const earned = tokensIn(elapsed, elapsedPart, parameters);
  if (tokens + earned >= burst) return { tokens: burst, instant: Math.max(instant, now), part: 0 };
  const credited = spanFor(earned, parameters);
  instant += credited.whole;
  part += credited.part;
  if (part >= limit) {
    instant += 1;
    part -= limit;
  }
  return { tokens: tokens + earned, instant, part };
}

/** How long until `missing` more tokens have come. */
function waitFor(
  missing: number,
  now: number,
  bucket: TokenBucketState,
  parameters: TokenBucketParameters,
): number {
  if (missing <= 0) return 0;
  return instantOf(missing, bucket, parameters) - now;
}

/** When the bucket may be forgotten. */
function expiryOf(bucket: TokenBucketState, now: number, parameters: TokenBucketParameters): number {
  const { burst, initial } = parameters;
  if (initial === burst) return waitFor(burst - bucket.tokens, now, bucket, parameters);
  return instantOf(burst - bucket.tokens, bucket, parameters) + MEMORY - now;
}

/** How many tokens a bucket gains in a time at the most. */
function worth(time: number, { limit, window, interval }: TokenBucketParameters): number {
  return interval === 1 ? Math.ceil(time / window) * limit : permitsIn(time, 0, limit, window);
}

/**
 * The token bucket: a hit takes `cost` tokens from a bucket of `burst`, which gains `limit` tokens
 * a window, continuously or all at once after each whole window. It starts full unless told otherwise.
 *
 * Tokens are credited whole, and the instant moves by just the time that they took, so that nothing
 * is ever rounded away.
 */
export const tokenBucket: AlgorithmDefinition<TokenBucketOptions, TokenBucketState, Parameter> & {
  readonly queues: true;
} = {
  name: 'token-bucket',
  parameters: ['limit', 'window', 'burst', 'interval', 'initial'],
  options: {
    burst: burstOption,
    refill: {
      allowed: '"continuous" or "interval"',
      accepts: (value) => value === 'continuous' || value === 'interval',
    },
    initial: {
      allowed: 'an integer from 0 to 1000000000',
      accepts: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e9,
    },
    warmUp: { allowed: DURATION_ALLOWED, accepts: (value) => parseDuration(value) !== undefined },
  },
  resolve: (rule) => (rule.warmUp === undefined ? undefined : warmUp),
  check({ limit, window, burst = limit, initial = burst, cost = 1 }) {
    if (initial > burst) return `initial is ${initial}; allowed: at most the burst, ${burst}`;
    if (initial < Math.min(cost, burst)) {
      return `initial is ${initial}; allowed: at least the cost, ${cost}, since a new subject's denial starts no bucket`;
    }
    return checkRate({ limit, window, burst });
  },
  capacity: ({ burst }) => burst,
  compile: ({ limit, window, burst = limit, refill, initial = burst }) => ({
    limit,
    window,
    burst,
    interval: refill === 'interval' ? 1 : 0,
    initial,
  }),
  queues: true,
  prelude: rateLua,
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, burst, initial } = parameters;
    if (limit === 0) return NEVER;

    const known = fill(state, now, parameters);
    const bucket = known ?? { tokens: initial, instant: now, part: 0 };
    let wait = 0;
    if (cost > Math.max(0, bucket.tokens)) {
      wait = waitFor(cost - bucket.tokens, now, bucket, parameters);
      if (patience < Infinity && (cost > burst || wait > patience)) {
        const resetAfter = waitFor(burst - bucket.tokens, now, bucket, parameters);
        // A denial stores nothing, so that a new bucket stays as it is.
        const retryAfter = cost > burst || !known ? null : wait;
        return { allowed: false, remaining: Math.max(0, bucket.tokens), retryAfter, resetAfter, delay: 0 };
      }
    }

    const next = { ...bucket, tokens: bucket.tokens - cost };
    return {
      allowed: true,
      remaining: Math.max(0, next.tokens),
      retryAfter: 0,
      resetAfter: waitFor(burst - next.tokens, now, next, parameters),
      delay: wait,
      state: next,
      expiresAfter: expiryOf(next, now, parameters),
    };
  },

  /**
   * A charge wears off as the bucket fills: where others have come since, no more than what can be left
   * of it is given back.
   */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, burst } = parameters;
    if (limit === 0) return undefined;
    let bucket = fill(state, now, parameters);
    if (!bucket) return undefined;
    const endsAt = now + waitFor(burst - bucket.tokens, now, bucket, parameters);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    const back = endsAt === receipt ? cost : Math.min(cost, worth(Number(receipt) - now, parameters));
    bucket = { ...bucket, tokens: bucket.tokens + back };
    if (bucket.tokens >= burst) bucket = { tokens: burst, instant: Math.max(bucket.instant, now), part: 0 };
    return { state: bucket, expiresAfter: expiryOf(bucket, now, parameters) };
  },
};
