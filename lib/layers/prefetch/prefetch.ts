import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { toMicroseconds } from '../../contracts/clock.js';
import type {
  Adjustment,
  CachingOptions,
  Counter,
  DecideOptions,
  Follower,
  HitResult,
  Store,
} from '../../contracts/store.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import type { CompiledPrefetch } from '../../rules/compiled-rule.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import { Prefetched } from './prefetched.js';

const MOST_KEYS = 10_000;
const LOOK_EVERY_MS = 100;
/** For how long permits can be refunded by their name after they can be spent, in microseconds. */
const REFUNDED_FOR = 60e6;

/** What this process knows of a key. */
interface Place {
  prefetched?: Prefetched | undefined;
  /** More permits are requested, and these have been promised to hits that wait. */
  coming?: Promise<HitResult> | undefined;
  promised: number;
  /** Before then the store has no permits to be taken ahead. */
  notBefore: number;
}

/**
 * Allows requests of rules with `prefetch` by permits that this process has taken ahead, so that the store is
 * asked once for many. It was charged for all of them, so that no other process gets them. See docs/adr/0017-leases.md.
 */
export class PrefetchLayer implements Store<RuleHit>, Follower {
  private readonly places: LRUCache<string, Place>;
  /** What was evicted, until it is refunded. */
  private evicted: Place[] = [];
  private readonly taking = new Set<Promise<void>>();
  private closing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isFollowing = false;
  private readonly instance = randomBytes(6).toString('hex');
  private takes = 0;

  constructor(
    private readonly next: Store<RuleHit>,
    private readonly options: CachingOptions,
  ) {
    this.places = new LRUCache<string, Place>({
      max: MOST_KEYS,
      dispose: (place, _key, reason) => {
        if (reason === 'evict') this.evicted.push(place);
      },
    });
  }

  decide(hits: readonly RuleHit[], options: DecideOptions): MaybePromise<readonly HitResult[]> {
    const [hit] = hits as readonly [RuleHit];
    const { prefetch } = hit.rule;
    if (!prefetch || hits.length > 1 || options.dryRun || options.patience)
      return this.next.decide(hits, options);
    const spent = this.spend(hit);
    return spent ? [spent] : this.take(prefetch, hit, hits, options);
  }

  adjust(
    adjustments: readonly Adjustment[],
    options?: Pick<DecideOptions, 'within'>,
  ): Promise<readonly (boolean | undefined)[]> {
    return this.next.adjust(adjustments, options);
  }

  block(counter: Counter, duration: number): Promise<void> {
    return this.next.block(counter, duration);
  }

  async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    const hadState = await this.next.reset(counters);
    for (const { key } of counters) this.places.delete(key);
    return hadState;
  }

  /** Refunds everything that is left. */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  changed(key: string, isReset: boolean): void {
    if (isReset) this.places.delete(key);
  }

  trusted(): void {
    // A change that is reported late, or never, has no effect after a `ttl`.
  }

  private async closeAll(): Promise<void> {
    clearInterval(this.timer);
    this.options.shared.unfollow(this.options.prefix, this);
    await Promise.allSettled(this.taking);
    const places = [...this.places.values(), ...this.evicted.splice(0)];
    this.places.clear();
    await this.refund(places);
    await this.next.close();
  }

  private spend(hit: RuleHit): HitResult | undefined {
    const prefetched = this.places.get(hit.key)?.prefetched;
    return prefetched?.isFor(hit) ? prefetched.spend(hit, this.now()) : undefined;
  }

  /** Takes permits ahead, if there may be some and the hit may have them; else asks for the hit alone. */
  private take(
    prefetch: CompiledPrefetch,
    hit: RuleHit,
    hits: readonly RuleHit[],
    options: DecideOptions,
  ): MaybePromise<readonly HitResult[]> {
    if (hit.cost === 0 || hit.cost > prefetch.permits || this.closing) return this.next.decide(hits, options);
    const place = this.placeOf(hit.key);
    const isFirst = !place.coming;
    if (isFirst) {
      if (this.now() < place.notBefore) return this.next.decide(hits, options);
      place.promised = 0;
      place.coming = this.request(place, prefetch, hit);
      this.track(place, hit.key, place.coming);
    }
    place.promised += hit.cost;
    if (place.promised > prefetch.permits) return this.next.decide(hits, options);
    return this.served(place, isFirst, hits, options);
  }

  /** Waits for the permits that were requested. A second question does not wait for as long again. */
  private async served(
    place: Place,
    isFirst: boolean,
    hits: readonly RuleHit[],
    options: DecideOptions,
  ): Promise<readonly HitResult[]> {
    const [hit] = hits as readonly [RuleHit];
    const startedAt = performance.now();
    const result = await place.coming!;
    if (result.source === 'fallback') {
      return isFirst ? [result] : this.next.decide(hits, { ...options, unavailable: result.unavailable });
    }
    const spent = place.prefetched?.isFor(hit) ? place.prefetched.spendAtOnce(hit) : undefined;
    if (spent) return [spent];
    const { timeout } = this.options.shared;
    const elapsed = performance.now() - startedAt;
    const isLate = elapsed >= timeout / 20;
    return this.next.decide(hits, isLate ? { ...options, within: Math.max(1, timeout - elapsed) } : options);
  }

  private async request(place: Place, prefetch: CompiledPrefetch, hit: RuleHit): Promise<HitResult> {
    const former = place.prefetched;
    place.prefetched = undefined;
    const since = this.now();
    if (former) void this.refund([{ ...place, prefetched: former }]);
    const { permits, ttl } = prefetch;
    const name = `${this.instance}-${++this.takes}`;
    const taken = { permits, name, keptFor: ttl + REFUNDED_FOR };
    try {
      const [result] = (await this.next.decide([hit], { prefetch: taken })) as [HitResult];
      const isOfStore = result.source !== 'fallback';
      if (isOfStore && result.allowed) place.prefetched = new Prefetched(prefetch, taken, hit, result, since);
      if (isOfStore && !result.allowed)
        place.notBefore = since + Math.min(result.retryAfter ?? Infinity, ttl);
      return result;
    } finally {
      place.coming = undefined;
    }
  }

  private placeOf(key: string): Place {
    const known = this.places.get(key);
    if (known) return known;
    const place: Place = { promised: 0, notBefore: -Infinity };
    this.places.set(key, place);
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    if (!this.isFollowing) {
      this.isFollowing = true;
      this.options.shared.follow(this.options.prefix, this);
    }
    return place;
  }

  /** Refunds what comes for a key that was evicted meanwhile, once hits that wait for it are served. */
  private track(place: Place, key: string, coming: Promise<unknown>): void {
    const came = coming
      .catch(() => undefined)
      .then(() => {
        if (this.places.peek(key) !== place) this.evicted.push(place);
      });
    this.taking.add(came);
    void came.then(() => this.taking.delete(came));
  }

  /** Refunds what was not spent in time. */
  private look(): void {
    const now = this.now();
    const over = [...this.places.entries()].filter(
      ([, { prefetched, coming, notBefore }]) =>
        !coming && notBefore <= now && (prefetched?.isOver(now) ?? true),
    );
    for (const [key] of over) this.places.delete(key);
    void this.refund([...over.map(([, place]) => place), ...this.evicted.splice(0)]);
    if (this.places.size > 0 || this.taking.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async refund(places: readonly Place[]): Promise<void> {
    const now = this.now();
    const rests = places.flatMap(({ prefetched }) => prefetched?.rest(now) ?? []);
    if (rests.length > 0) await this.next.adjust(rests);
  }

  private now(): number {
    return toMicroseconds(this.options.stopwatch());
  }
}
