import type { Decision } from '../contracts/decision.js';
import { DecidedHit } from './decision.js';
import type { CompiledRule } from './rule.js';

/**
 * What to answer when the store does not: let the hit through, or refuse it (over HTTP with a 503,
 * since the client has done nothing wrong).
 */
export type OnStoreError = 'allow' | 'deny';

/** Told once when the store stops answering and once when it answers again. */
export interface StoreStateListener {
  storeFailed(error: unknown): void;
  storeRecovered(): void;
}

const RETRY_AFTER_MS = 1000;

/** Decides in the store's place, and notices when the store's state changes. */
export class FailurePolicy {
  private failing = false;

  constructor(
    private readonly onStoreError: OnStoreError,
    private readonly listener?: StoreStateListener,
  ) {}

  succeeded(): void {
    if (!this.failing) return;
    this.failing = false;
    this.listener?.storeRecovered();
  }

  /** Notes that the store has failed where nothing has to be decided. */
  noticed(error: unknown): void {
    if (this.failing) return;
    this.failing = true;
    this.listener?.storeFailed(error);
  }

  /** The decision for rules that the store could not be asked about; nothing has been charged. */
  failed(error: unknown, rules: readonly CompiledRule[]): Decision {
    this.noticed(error);
    const allowed = this.onStoreError === 'allow';
    const decisions = rules.map((rule) => ({
      allowed,
      rule: rule.name,
      limit: rule.capacity,
      windowMs: rule.capacityWindowMs,
      remaining: 0,
      retryAfterMs: allowed ? 0 : RETRY_AFTER_MS,
      resetAfterMs: 0,
      delayMs: 0,
      ...(rule.observe && { observed: true }),
    }));
    return new DecidedHit(decisions, 'policy');
  }
}
