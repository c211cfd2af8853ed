import { burstOption, checkRate } from '../burst.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { permitsIn, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import lua from './token-bucket.lua.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions {
  /**
   * Tokens that the bucket holds when full, 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export interface TokenBucketState {
  /** Whole tokens in the bucket; below 0 when there is debt. */
  readonly tokens: number;
  /** The instant up to which they have been credited, in microseconds. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

type TokenBucketParameters = Readonly<Record<'limit' | 'window' | 'burst', number>>;

/** The bucket as it is now. */
function fill(
  state: TokenBucketState | undefined,
  now: number,
  parameters: TokenBucketParameters,
): TokenBucketState {
  const { limit, window, burst } = parameters;
  if (!state) return { tokens: burst, instant: now, part: 0 };
  const { tokens } = state;
  let { instant } = state;
  let part = Math.min(state.part, limit - 1);

  let elapsed = now - instant;
  let elapsedPart = 0 - part;
  if (elapsedPart < 0) {
    elapsed -= 1;
    elapsedPart += limit;
  }
  const earned = permitsIn(elapsed, elapsedPart, limit, window);
  if (tokens + earned >= burst) return { tokens: burst, instant: Math.max(instant, now), part: 0 };
  const credited = spanOf(earned, limit, window);
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
  const { whole, part } = spanOf(missing, parameters.limit, parameters.window);
  return bucket.instant - now + whole + Math.ceil((bucket.part + part) / parameters.limit);
}

/**
 * The token bucket: a hit takes `cost` tokens from a bucket of `burst`, which gains `limit` tokens
 * a window, continuously. It starts full.
 *
 * Tokens are credited whole, and the instant moves by just the time that they took, so that nothing
 * is ever rounded away.
 */
export const tokenBucket: AlgorithmDefinition<
  TokenBucketOptions,
  TokenBucketState,
  'limit' | 'window' | 'burst'
> & { readonly queues: true } = {
  name: 'token-bucket',
  parameters: ['limit', 'window', 'burst'],
  options: { burst: burstOption },
  check: checkRate,
  capacity: ({ burst }) => burst,
  compile: ({ limit, window, burst = limit }) => ({ limit, window, burst }),
  queues: true,
  prelude: rateLua,
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, burst } = parameters;
    if (limit === 0) return NEVER;

    const bucket = fill(state, now, parameters);
    let wait = 0;
    if (cost > Math.max(0, bucket.tokens)) {
      wait = waitFor(cost - bucket.tokens, now, bucket, parameters);
      if (patience < Infinity && (cost > burst || wait > patience)) {
        const resetAfter = waitFor(burst - bucket.tokens, now, bucket, parameters);
        const retryAfter = cost > burst ? null : wait;
        return { allowed: false, remaining: Math.max(0, bucket.tokens), retryAfter, resetAfter, delay: 0 };
      }
    }

    const tokens = bucket.tokens - cost;
    const resetAfter = waitFor(burst - tokens, now, bucket, parameters);
    return {
      allowed: true,
      remaining: Math.max(0, tokens),
      retryAfter: 0,
      resetAfter,
      delay: wait,
      state: { tokens, instant: bucket.instant, part: bucket.part },
      expiresAfter: resetAfter,
    };
  },

  /** A charge is gone once the bucket could have been full again since, however much was taken later. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, burst } = parameters;
    if (limit === 0) return undefined;
    let bucket = fill(state, now, parameters);
    const endsAt = now + waitFor(burst - bucket.tokens, now, bucket, parameters);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    bucket = { ...bucket, tokens: bucket.tokens + cost };
    if (bucket.tokens >= burst) bucket = { tokens: burst, instant: Math.max(bucket.instant, now), part: 0 };
    return { state: bucket, expiresAfter: waitFor(burst - bucket.tokens, now, bucket, parameters) };
  },
};
