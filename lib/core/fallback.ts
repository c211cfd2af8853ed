import type { Verdict } from '../contracts/algorithm.js';
import { toMilliseconds } from '../contracts/clock.js';
import type { Fallback } from '../contracts/decision.js';
import type { Ask } from '../contracts/store.js';
import type { Answer } from './charge.js';
import type { CompiledRule } from './compiled-rule.js';
import { RETRY_AFTER, type LocalShare } from './local-share.js';
import type { RuleHit } from './rule-hit.js';

/** What a request is told to wait that nobody could count, in milliseconds. */
export const UNCOUNTED_RETRY_MS = toMilliseconds(RETRY_AFTER);

const ALLOWED: Verdict = { allowed: true, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0 };
const DENIED: Verdict = { ...ALLOWED, allowed: false, retryAfter: RETRY_AFTER };

/** Decides while the store cannot, each rule by its own `onStoreError` or that of the limiter. */
export class StoreFallback {
  constructor(
    private readonly onStoreError: Fallback,
    private readonly local: LocalShare,
  ) {}

  /** Decides hits that the store has not decided, all or nothing. */
  async answer(hits: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    const isDenied = hits.some(({ rule }) => !rule.observe && this.of(rule) === 'deny');
    const local = hits.filter(({ rule }) => this.of(rule) === 'local');
    const counted = await this.count(local, isDenied ? { ...ask, dryRun: true } : ask);
    return hits.map((hit) => {
      const fallback = this.of(hit.rule);
      if (fallback === 'local') return counted.shift()!;
      const verdict = fallback === 'deny' ? DENIED : ALLOWED;
      return { hit, verdict, now: 0, fallback, isCharged: false };
    });
  }

  private async count(local: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    return local.length > 0 ? this.local.decide(local, ask) : [];
  }

  private of({ onStoreError = this.onStoreError }: CompiledRule): Fallback {
    return onStoreError;
  }
}
