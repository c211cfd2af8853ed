import type { Hit, HitResult, DecideOptions, Store } from '../../contracts/store.js';
import type { CachingOptions, Follower } from '../../contracts/base-store.js';
import { LruMap } from '../../contracts/lru-map.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import { every, type Timer } from '../../contracts/timer.js';
import { Denial } from './denial.js';

const MOST_DENIALS = 10_000;

const MOST_BYTES = 8 * 1024 * 1024;

const SWEEP_EVERY_MS = 1000;

/**
 * Longest time for which a denial is cached, in microseconds; announce.lua has the same number. It also bounds how long a
 * denial outlives a key that is deleted by hand.
 */
const LONGEST_DENIAL = 1e6;

/**
 * Repeats the denials of the store from a cache, as long as the store would deny the same request.
 *
 * A counter without remaining permits does not change before its `retryAfter`, since nothing can be charged to it.
 * Until then the same request is denied, unless permits are refunded, or the counter is reset or blocked, which the
 * store reports. The first denial after a block begins the next one, so a denial of a rule with `block` is cached until
 * the block ends. A denial is cached for at most one second. See docs/adr/0015-deny-cache.md.
 */
export class DenyCache implements Store, Follower {
  private readonly denials = new LruMap<Denial>(MOST_DENIALS, MOST_BYTES);
  readonly adjust: Store['adjust'] = (...args) => this.next.adjust(...args);
  readonly block: Store['block'] = (...args) => this.next.block(...args);
  readonly reset: Store['reset'] = (...args) => this.next.reset(...args);
  private timer: Timer | undefined;
  private isFollowing = false;
  private isClosed = false;
  private isTrusted = false;
  /** Number of changes reported so far, to detect a change that is reported while the store decides. */
  private changes = 0;

  constructor(
    private readonly next: Store,
    private readonly options: CachingOptions,
  ) {}

  decide(hits: readonly Hit[], options: DecideOptions): MaybePromise<readonly HitResult[]> {
    if (options.maxWait || options.dryRun) return this.next.decide(hits, options);
    const known = this.find(hits);
    if (known) return known;
    const since = this.now();
    const { changes } = this;
    const cached = (found: readonly HitResult[]): readonly HitResult[] => {
      for (const { allowed } of found) {
        if (allowed) continue;
        this.keep(hits, found, since, changes);
        break;
      }
      return found;
    };
    const results = this.next.decide(hits, this.isTrusted ? { ...options, cachesDenials: true } : options);
    return results instanceof Promise ? results.then(cached) : cached(results);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.options.shared.unfollow(this.options.prefix, this);
    this.trusted(false);
    await this.next.close();
  }

  changed(key: string): void {
    this.changes += 1;
    this.denials.delete(key);
  }

  trusted(isTrusted: boolean): void {
    this.changes += 1;
    this.isTrusted = isTrusted;
    this.sweep(Infinity);
  }

  /** Returns the cached results of a request; `undefined` if there are none. */
  private find(hits: readonly Hit[]): readonly HitResult[] | undefined {
    if (!this.timer) return undefined; // No denial is cached.
    for (const hit of hits) {
      const denial = this.denials.find(hit); // Its use is not noted: the oldest denial is evicted, which is the first to end.
      if (!denial?.isOf(hits)) continue;
      const results = denial.at(this.now());
      if (!results) this.denials.delete(hit.key);
      return results;
    }
    return undefined;
  }

  /**
   * Caches a denial if its results are certain to stay correct.
   *
   * @param since when the store was called
   * @param changes the number of changes reported before that
   */
  private keep(hits: readonly Hit[], results: readonly HitResult[], since: number, changes: number): void {
    let denied: Hit | undefined;
    let wait = LONGEST_DENIAL;
    for (const [index, result] of results.entries()) {
      const { allowed, retryAfter, remaining, source } = result;
      const hit = hits[index]!;
      if (source === 'fallback' || source === 'cache' || !isSteady(hit, allowed)) return;
      if (allowed || hit.shadow) continue;
      // A higher cost waits beyond the first available permit, which another request may take.
      if (hit.cost > 1 || remaining > 0 || retryAfter === null) return;
      denied ??= hit;
      wait = Math.min(wait, retryAfter, untilBlock(hit, result));
    }
    if (!denied || wait === 0 || !this.isListening(hits) || changes !== this.changes) return;
    this.denials.add(new Denial(denied.key, hits, results, since, since + wait));
    this.timer ??= every(SWEEP_EVERY_MS, () => this.sweep(this.now()));
  }

  private sweep(now: number): void {
    this.denials.sweep((denial) => denial.isOver(now));
    if (this.denials.count > 0) return;
    this.timer?.stop();
    this.timer = undefined;
  }

  /** Microseconds of the stopwatch. */
  private now(): number {
    return Math.round(this.options.stopwatch() * 1000);
  }

  /** Whether the store reports changes of all these counters. Starts to follow them with the first denial. */
  private isListening(hits: readonly Hit[]): boolean {
    if (this.isClosed) return false;
    const { shared, prefix } = this.options;
    if (!this.isFollowing) {
      this.isFollowing = true;
      shared.follow(prefix, this);
    }
    return this.isTrusted && hits.every((hit) => shared.isFollowed(hit));
  }
}

/** Returns how long repeated denials of this hit begin no block, in microseconds. */
function untilBlock({ block }: Hit, { blockedFor = 0 }: HitResult): number {
  return block && block.duration > 0 ? blockedFor : Infinity;
}

/** Whether this hit of a denied request changes no state in the store while its block lasts. */
function isSteady({ algorithm, block, shadow, cost }: Hit, allowed: boolean): boolean {
  if (algorithm.leases || cost === 0) return false;
  return !block || block.duration === 0 || (!allowed && !shadow);
}
