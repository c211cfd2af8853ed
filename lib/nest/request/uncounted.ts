import type { Decision } from '../../contracts/decision.js';
import { DecidedHit } from '../../limiter/decision.js';
import { UNCOUNTED_RETRY_MS } from '../../layers/fallback/fallback.js';

const DENIED = { allowed: false, limit: 0, windowMs: 0, remaining: 0, resetAfterMs: 0, delayMs: 0 };

/** Denies a request that has no subject, under `onMissingSubject: 'deny'`. */
export function withoutSubject(rule: string): Decision {
  return new DecidedHit([{ ...DENIED, rule, retryAfterMs: null }], 'memory');
}

/** Denies a request on which a rule could not be evaluated, under `onStoreError: 'deny'`. */
export function unevaluated(rule: string): Decision {
  const denied = { ...DENIED, rule, retryAfterMs: UNCOUNTED_RETRY_MS, fallback: 'deny' } as const;
  return new DecidedHit([denied], 'fallback');
}
