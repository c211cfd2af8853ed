import { LRUCache } from 'lru-cache';
import type { Parameters } from '../contracts/algorithm.js';
import { toMicroseconds, type Clock } from '../contracts/clock.js';
import type { Ask, Follower, Hit, Outcome, Store } from '../contracts/store.js';
import { DecidedHit, ruleDecision } from './decision.js';
import type { RuleHit } from './rule-hit.js';

const MOST_DENIALS = 10_000;

/** Also bounds for how long a key that somebody deletes by hand is still believed. */
const LONGEST_BELIEF = 1e6;

interface Denial {
  /** The request that was denied. */
  readonly keys: readonly string[];
  readonly costs: readonly number[];
  readonly parameters: readonly Parameters[];
  readonly outcome: Outcome;
  /** When it was asked and until when it is known to be denied, in microseconds of the cache's clock. */
  readonly since: number;
  readonly until: number;
}

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
  find(ruleHits: readonly RuleHit[], hits: readonly Hit[], ask: Ask): DecidedHit | undefined {
    if (this.denials.size === 0 || ask.patience || ask.dryRun) return undefined;
    for (const { key } of hits) {
      const denial = this.denials.get(key);
      if (denial && isSame(denial, hits)) return this.answer(key, denial, ruleHits);
    }
    return undefined;
  }

  /**
   * Keeps a denial, if it is one that lasts.
   *
   * @param asked what `begin` gave before the store was asked
   */
  keep(hits: readonly Hit[], ask: Ask, outcome: Outcome, { since, version }: Asked): void {
    if (ask.patience || ask.dryRun) return;
    const { verdicts } = outcome;
    let [deniedKey, wait] = ['', LONGEST_BELIEF];
    for (const [index, { allowed, retryAfter, remaining }] of verdicts.entries()) {
      const hit = hits[index]!;
      if (!isSteady(hit, allowed)) return;
      if (allowed || hit.observe) continue;
      // A dearer hit waits for longer than it takes the first permit to come back.
      if (hit.cost > 1 || remaining > 0 || retryAfter === null) return;
      deniedKey ||= hit.key;
      wait = Math.min(wait, retryAfter);
    }
    if (deniedKey === '' || !this.isListening() || version !== this.changes) return;
    this.denials.set(deniedKey, {
      keys: hits.map(({ key }) => key),
      costs: hits.map(({ cost }) => cost),
      parameters: hits.map(({ parameters }) => parameters),
      outcome,
      since,
      until: since + wait,
    });
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

  /** Whether the store tells of changes; begins to listen with the first denial. */
  private isListening(): boolean {
    if (this.isClosed) return false;
    if (!this.isFollowing) {
      this.isFollowing = true;
      this.store.follow?.(this.prefix, this);
    }
    return this.isTrusted;
  }

  private answer(key: string, denial: Denial, ruleHits: readonly RuleHit[]): DecidedHit | undefined {
    const now = this.now();
    const elapsed = now - denial.since;
    if (now >= denial.until || elapsed < 0) {
      this.denials.delete(key);
      return undefined;
    }
    const decisions = denial.outcome.verdicts.map((verdict, index) => {
      const { retryAfter, resetAfter } = verdict;
      return ruleDecision(ruleHits[index]!.rule, {
        ...verdict,
        retryAfter: retryAfter === null ? null : Math.max(0, retryAfter - elapsed),
        resetAfter: Math.max(0, resetAfter - elapsed),
      });
    });
    return new DecidedHit(decisions, 'cache');
  }
}

/** Whether the store would change nothing for such a hit of a denied request, now and until it is allowed. */
function isSteady({ algorithm, block, observe, cost }: Hit, allowed: boolean): boolean {
  if (algorithm.leases || cost === 0) return false;
  return !block || block.duration === 0 || (!allowed && !observe);
}

function isSame({ keys, costs, parameters }: Denial, hits: readonly Hit[]): boolean {
  if (keys.length !== hits.length) return false;
  return hits.every(
    (hit, index) =>
      hit.key === keys[index] && hit.cost === costs[index] && hit.parameters === parameters[index],
  );
}
