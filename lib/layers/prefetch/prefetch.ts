import { randomBytes } from 'node:crypto';
import { toMicroseconds } from '../../contracts/clock.js';
import type { Counter, DecideOptions, HitResult, Store } from '../../contracts/store.js';
import type { CachingOptions, Follower } from '../../contracts/base-store.js';
import { LruEntry, LruMap } from '../../contracts/lru-map.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import { every, type Timer } from '../../contracts/timer.js';
import type { CompiledPrefetch, RuleHit } from '../../rules/compiled-rule.js';
import { Prefetched } from './prefetched.js';

const MOST_KEYS = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;
/** Estimated heap of the prefetched permits of a key, in bytes, besides the key. */
const ENTRY_BYTES = 1300;
const SWEEP_EVERY_MS = 100;
/** How long prefetched permits can be refunded by name after they have expired, in microseconds. */
const REFUNDED_FOR = 60e6;

/** The prefetched permits of a key. */
class Entry extends LruEntry<Entry> {
  prefetched: Prefetched | undefined;
  /** The result of the pending prefetch. */
  coming: Promise<HitResult> | undefined;
  /** Permits of the pending prefetch that are promised to waiting requests. */
  promised = 0;
  /** No permits are prefetched before this time, since the store denied the last prefetch. */
  notBefore = -Infinity;

  isOver(now: number): boolean {
    return !this.coming && this.notBefore <= now && (this.prefetched?.isOver(now) ?? true);
  }
}

/**
 * Allows requests of rules with `prefetch` with permits that this process has prefetched, so that one call to the store
 * serves many requests. The permits are charged when they are prefetched, so that no other process can use them. See
 * docs/adr/0017-prefetched-permits.md.
 */
export class PrefetchLayer implements Store<RuleHit>, Follower {
  /** Evicted entries whose permits are not refunded yet. */
  private readonly evicted: Entry[] = [];
  private readonly entries = new LruMap<Entry>(MOST_KEYS, MOST_BYTES, (entry) => this.evicted.push(entry));
  readonly adjust: Store['adjust'] = (...args) => this.next.adjust(...args);
  readonly block: Store['block'] = (...args) => this.next.block(...args);
  /** Entries whose prefetch is pending. */
  private readonly taking = new Set<Entry>();
  /** Refunds that are under way. */
  private readonly refunding = new Set<Promise<unknown>>();
  private closing: Promise<void> | undefined;
  private timer: Timer | undefined;
  private isFollowing = false;
  private readonly instance = randomBytes(6).toString('hex');
  private takes = 0;

  constructor(
    private readonly next: Store<RuleHit>,
    private readonly options: CachingOptions,
  ) {}

  decide(hits: readonly RuleHit[], options: DecideOptions): MaybePromise<readonly HitResult[]> {
    const [hit] = hits as readonly [RuleHit];
    const { prefetch } = hit.rule;
    const { dryRun = false, peek = false, maxWait } = options;
    if (!prefetch || hits.length > 1 || (dryRun && !peek) || maxWait) return this.next.decide(hits, options);
    const spent = this.spend(hit, peek);
    if (spent) return [spent];
    return peek ? this.next.decide(hits, options) : this.take(prefetch, hits, options);
  }

  async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    const hadState = await this.next.reset(counters);
    for (const { key } of counters) this.entries.delete(key);
    return hadState;
  }

  /** Refunds all unused permits. */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  changed(key: string, isReset: boolean): void {
    if (isReset) this.entries.delete(key);
  }

  /** A reset may have been missed before reports begin. While none arrive, as in an outage, the permits serve on. */
  trusted(_isTrusted: boolean, hasBegun: boolean): void {
    if (hasBegun) this.refundAll();
  }

  /** Refunds the permits of all keys, since changed rules may have left some of them. */
  refundAll(): void {
    this.refund(this.entries.sweep(() => true).filter(({ coming }) => !coming));
  }

  private async closeAll(): Promise<void> {
    this.timer?.stop();
    this.options.shared.unfollow(this.options.prefix, this);
    await Promise.allSettled(Array.from(this.taking, ({ coming }) => coming));
    this.refund([...this.entries.sweep(() => true), ...this.evicted.splice(0)]);
    await Promise.allSettled(this.refunding);
    await this.next.close();
  }

  private spend(hit: RuleHit, peek: boolean): HitResult | undefined {
    const entry = this.entries.get(hit.key);
    if (entry) this.entries.use(entry);
    const prefetched = entry?.prefetched;
    return prefetched?.isFor(hit) ? prefetched.spend(hit, this.now(), peek) : undefined;
  }

  /** Prefetches permits for the hit, or waits for a pending prefetch. If that cannot cover the hit, the store decides. */
  private take(
    prefetch: CompiledPrefetch,
    hits: readonly RuleHit[],
    options: DecideOptions,
  ): MaybePromise<readonly HitResult[]> {
    const [hit] = hits as readonly [RuleHit];
    if (hit.cost === 0 || hit.cost > prefetch.permits || !this.isListening(hit)) {
      return this.next.decide(hits, options);
    }
    const entry = this.entryOf(hit.key);
    const isFirst = !entry.coming;
    if (isFirst) {
      if (this.now() < entry.notBefore) return this.next.decide(hits, options);
      entry.promised = 0;
      entry.coming = this.request(entry, prefetch, hit);
      this.taking.add(entry);
    }
    entry.promised += hit.cost;
    if (entry.promised > prefetch.permits) return this.next.decide(hits, options);
    return this.served(entry, isFirst, hits, options);
  }

  /** Waits for the pending prefetch. If it does not cover the hit, the store decides within the rest of the deadline. */
  private async served(
    entry: Entry,
    isFirst: boolean,
    hits: readonly RuleHit[],
    options: DecideOptions,
  ): Promise<readonly HitResult[]> {
    const [hit] = hits as readonly [RuleHit];
    const { timeout, awake } = this.options.shared;
    const startedAt = awake();
    const result = await entry.coming!;
    if (result.source === 'fallback') {
      return isFirst ? [result] : this.next.decide(hits, { ...options, unavailable: result.unavailable });
    }
    const spent = entry.prefetched?.isFor(hit) ? entry.prefetched.spendAtOnce(hit) : undefined;
    if (spent) return [spent];
    const elapsed = awake() - startedAt;
    const isLate = elapsed >= timeout / 20;
    return this.next.decide(hits, isLate ? { ...options, within: Math.max(1, timeout - elapsed) } : options);
  }

  private async request(entry: Entry, prefetch: CompiledPrefetch, hit: RuleHit): Promise<HitResult> {
    const former = entry.prefetched;
    entry.prefetched = undefined;
    const since = this.now();
    if (former) this.refund([{ prefetched: former }]);
    const { permits, ttl } = prefetch;
    const name = `${this.instance}-${++this.takes}`;
    const taken = { permits, name, keptFor: ttl + REFUNDED_FOR };
    try {
      const [result] = (await this.next.decide([hit], { prefetch: taken })) as [HitResult];
      const isOfStore = result.source !== 'fallback';
      if (isOfStore && result.allowed) entry.prefetched = new Prefetched(prefetch, taken, hit, result, since);
      if (isOfStore && !result.allowed)
        entry.notBefore = since + Math.min(result.retryAfter ?? Infinity, ttl);
      return result;
    } finally {
      entry.coming = undefined;
      this.taking.delete(entry);
      if (entry.map !== this.entries) this.evicted.push(entry); // while the prefetch was pending
    }
  }

  private entryOf(key: string): Entry {
    const known = this.entries.get(key);
    if (known) return known;
    const entry = new Entry(key, ENTRY_BYTES + 2 * key.length);
    this.entries.add(entry);
    this.timer ??= every(SWEEP_EVERY_MS, () => this.sweep());
    return entry;
  }

  /** Whether resets of the key are reported: without reports, prefetched permits would outlive a reset. */
  private isListening(hit: RuleHit): boolean {
    if (this.closing) return false;
    const { shared, prefix } = this.options;
    if (!this.isFollowing) {
      this.isFollowing = true;
      shared.follow(prefix, this);
    }
    return shared.isFollowed(hit);
  }

  /** Refunds permits that were not used in time. */
  private sweep(): void {
    const now = this.now();
    const over = this.entries.sweep((entry) => entry.isOver(now));
    this.refund([...over, ...this.evicted.splice(0)]);
    if (this.entries.count > 0 || this.taking.size > 0) return;
    this.timer?.stop();
    this.timer = undefined;
  }

  private refund(entries: readonly Pick<Entry, 'prefetched'>[]): void {
    const now = this.now();
    const rests = entries.flatMap(({ prefetched }) => prefetched?.rest(now) ?? []);
    if (rests.length === 0) return;
    const refunding = this.next.adjust(rests).finally(() => this.refunding.delete(refunding));
    this.refunding.add(refunding);
  }

  private now(): number {
    return toMicroseconds(this.options.stopwatch());
  }
}
