import { LRUCache } from 'lru-cache';
import { toMicroseconds, type Clock } from '../contracts/clock.js';
import type { Ask, Follower, Hit, Outcome, Store } from '../contracts/store.js';
import type { DecidedHit } from './decision.js';
import { Denial } from './denial.js';
import type { RuleHit } from './rule-hit.js';

const MOST_DENIALS = 10_000;

/** Also bounds for how long a key that somebody deletes by hand is still believed. */
const LONGEST_BELIEF = 1e6;

/** When the store was asked, and what was known then. */
export interface Asked {
  readonly since: number;
  readonly version: number;
}

/**
 * Answers again what was denied, without asking the store, for as long as that is what it would say.
 *
 * A counter with nothing left stays as it is until its `retryAfter`, since nothing can be charged to it:
 * until then all the same is denied, unless something is given back, reset or blocked, of which the store
 * tells. It is asked again after a second in any case. See docs/adr/0015-deny-cache.md.
 */
export class DenyCache implements Follower {
  private readonly denials = new LRUCache<string, Denial>({ max: MOST_DENIALS });
  private readonly clock: Clock;
  private isFollowing = false;
  private isClosed = false;
  private isTrusted = false;
  /** Tells whether anything has changed while the store was asked. */
  private changes = 0;

  constructor(
    private readonly store: Store,
    private readonly prefix: string,
  ) {
    this.clock = store.stopwatch ?? (() => performance.now());
  }

  /** What to give `keep` after the store was asked. */
  begin(): Asked {
    return { since: this.now(), version: this.changes };
  }

  /** The decision that a request would get, `undefined` if only the store knows. */
  find(hits: readonly RuleHit[], ask: Ask): DecidedHit | undefined {
    if (this.denials.size === 0 || ask.patience || ask.dryRun) return undefined;
    for (const { key } of hits) {
      // They end within a second, so that those kept for longest are those to go.
      const denial = this.denials.peek(key);
      if (!denial?.isOf(hits)) continue;
      const decision = denial.at(this.now());
      if (!decision) this.denials.delete(key);
      return decision;
    }
    return undefined;
  }

  /**
   * Keeps a denial, if it is one that lasts.
   *
   * @param asked what `begin` gave before the store was asked
   */
  keep(hits: readonly RuleHit[], ask: Ask, outcome: Outcome, { since, version }: Asked): void {
    if (ask.patience || ask.dryRun) return;
    const { verdicts } = outcome;
    let denied: RuleHit | undefined;
    let wait = LONGEST_BELIEF;
    for (const [index, { allowed, retryAfter, remaining }] of verdicts.entries()) {
      const hit = hits[index]!;
      if (!isSteady(hit, allowed)) return;
      if (allowed || hit.observe) continue;
      // A dearer hit waits for longer than it takes the first permit to come back.
      if (hit.cost > 1 || remaining > 0 || retryAfter === null) return;
      denied ??= hit;
      wait = Math.min(wait, retryAfter);
    }
    if (!denied || !this.isListening(hits) || version !== this.changes) return;
    this.denials.set(denied.key, new Denial(hits, outcome, since, since + wait));
  }

  changed(key: string): void {
    this.changes += 1;
    this.denials.delete(key);
  }

  trusted(isTrusted: boolean): void {
    this.changes += 1;
    this.isTrusted = isTrusted;
    this.denials.clear();
  }

  close(): void {
    this.isClosed = true;
    this.store.unfollow?.(this.prefix, this);
    this.isFollowing = false;
    this.trusted(false);
  }

  private now(): number {
    return toMicroseconds(this.clock());
  }

  /** Whether the store tells of changes of all these; begins to listen with the first denial. */
  private isListening(hits: readonly Hit[]): boolean {
    if (this.isClosed) return false;
    if (!this.isFollowing) {
      this.isFollowing = true;
      this.store.follow?.(this.prefix, this);
    }
    return this.isTrusted && hits.every((hit) => this.store.hears?.(hit) ?? true);
  }
}

/** Whether the store would change nothing for such a hit of a denied request, now and until it is allowed. */
function isSteady({ algorithm, block, observe, cost }: Hit, allowed: boolean): boolean {
  if (algorithm.leases || cost === 0) return false;
  return !block || block.duration === 0 || (!allowed && !observe);
}
