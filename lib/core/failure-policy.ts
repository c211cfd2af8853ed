import type { Verdict } from '../contracts/algorithm.js';
import type { Ask } from '../contracts/store.js';
import type { Answer } from './charge.js';
import type { LocalShare } from './local-share.js';
import type { OnStoreError } from './on-store-error.js';
import type { RuleHit } from './rule-hit.js';
import type { CompiledRule } from './compiled-rule.js';

const RETRY_AFTER = 1e6;

const ALLOWED: Verdict = { allowed: true, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0 };
const DENIED: Verdict = { ...ALLOWED, allowed: false, retryAfter: RETRY_AFTER };

/** Decides in the store's place, each rule by its own policy or the one that goes for all. */
export class FailurePolicy {
  constructor(
    private readonly onStoreError: OnStoreError,
    private readonly local?: LocalShare,
  ) {}

  /** Whether this process counts for itself where the store does not. */
  isLocal(rule: CompiledRule): boolean {
    return this.of(rule) === 'local';
  }

  /** Answers hits that the store could not be asked about, all or nothing. */
  async answer(hits: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    const isDenied = hits.some(({ rule }) => !rule.observe && this.of(rule) === 'deny');
    const local = hits.filter(({ rule }) => this.isLocal(rule));
    const counted = await this.count(local, isDenied ? { ...ask, dryRun: true } : ask);
    return hits.map((hit) => {
      if (this.isLocal(hit.rule) && this.local) return counted.shift()!;
      return { hit, verdict: this.of(hit.rule) === 'deny' ? DENIED : ALLOWED, now: 0, isCharged: false };
    });
  }

  private async count(local: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    return local.length > 0 && this.local ? this.local.decide(local, ask) : [];
  }

  private of({ onStoreError = this.onStoreError }: CompiledRule): OnStoreError {
    return onStoreError;
  }
}
