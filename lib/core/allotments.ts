import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { toMicroseconds, type Clock } from '../contracts/clock.js';
import type { Follower, Hit, Store } from '../contracts/store.js';
import { Allotment } from './allotment.js';
import type { Answer } from './charge.js';
import type { Ledger } from './ledger.js';
import type { CompiledLease } from './compiled-rule.js';

const MOST_KEYS = 10_000;
const LOOK_EVERY_MS = 100;

/** What this process knows of a key. */
interface Place {
  allotment?: Allotment | undefined;
  /** More permits are on their way, and these have been promised to hits. */
  coming?: Promise<void> | undefined;
  promised: number;
  /** Before then the store has no permits to be taken ahead. */
  notBefore: number;
}

/**
 * Decides hits by permits that this process has taken ahead: the store is asked once for many. It has been
 * charged for all of them, so that nobody else gets them. See docs/adr/0017-leases.md.
 */
export class Allotments implements Follower {
  private readonly places: LRUCache<string, Place>;
  /** What there was no room for any more, until it is given back. */
  private evicted: Place[] = [];
  private readonly taking = new Set<Promise<void>>();
  private closing: Promise<void> | undefined;
  private readonly clock: Clock;
  private timer: NodeJS.Timeout | undefined;
  private isFollowing = false;
  private readonly instance = randomBytes(6).toString('hex');
  private takes = 0;

  constructor(
    private readonly store: Store,
    private readonly prefix: string,
    private readonly ledger: Ledger,
  ) {
    this.clock = store.stopwatch ?? (() => performance.now());
    this.places = new LRUCache<string, Place>({
      max: MOST_KEYS,
      dispose: (place, _key, reason) => {
        if (reason === 'evict') this.evicted.push(place);
      },
    });
  }

  /** Decides a hit by what is here, `undefined` if that does not do. */
  spend(hit: Hit): Answer | undefined {
    const allotment = this.places.get(hit.key)?.allotment;
    return allotment?.isFor(hit) ? allotment.spend(hit, this.now()) : undefined;
  }

  /**
   * Takes permits ahead, if there may be some.
   *
   * @returns resolves with what they say of the hit, if they are enough; `undefined` if it is to ask the store
   */
  take(lease: CompiledLease, hit: Hit): Promise<Answer | undefined> | undefined {
    if (hit.cost === 0 || hit.cost > lease.permits || this.closing) return undefined;
    const place = this.placeOf(hit.key);
    if (!place.coming) {
      if (this.now() < place.notBefore) return undefined;
      place.promised = 0;
      place.coming = this.open(place, lease, hit);
      this.follow(place, hit.key, place.coming);
    }
    place.promised += hit.cost;
    if (place.promised > lease.permits) return undefined;
    return place.coming.then(() =>
      place.allotment?.isFor(hit) ? place.allotment.spendAtOnce(hit) : undefined,
    );
  }

  /** Forgets what it has of a key, whose charges are gone. */
  drop(key: string): void {
    this.places.delete(key);
  }

  changed(key: string, isReset: boolean): void {
    if (isReset) this.drop(key);
  }

  trusted(): void {
    // What is told late, or never, is over after a `ttl`.
  }

  /** Gives everything back. */
  close(): Promise<void> {
    return (this.closing ??= this.giveAllBack());
  }

  private async giveAllBack(): Promise<void> {
    clearInterval(this.timer);
    this.store.unfollow?.(this.prefix, this);
    await Promise.allSettled(this.taking);
    const places = [...this.places.values(), ...this.evicted.splice(0)];
    this.places.clear();
    await this.giveBack(places);
  }

  private now(): number {
    return toMicroseconds(this.clock());
  }

  private placeOf(key: string): Place {
    const known = this.places.get(key);
    if (known) return known;
    const place: Place = { promised: 0, notBefore: -Infinity };
    this.places.set(key, place);
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    if (!this.isFollowing) {
      this.isFollowing = true;
      this.store.follow?.(this.prefix, this);
    }
    return place;
  }

  /** Gives back what comes for a key that there is no room for any more, once hits that wait for it are served. */
  private follow(place: Place, key: string, coming: Promise<void>): void {
    const came = coming
      .catch(() => undefined)
      .then(() => {
        if (this.places.peek(key) !== place) this.evicted.push(place);
      });
    this.taking.add(came);
    void came.then(() => this.taking.delete(came));
  }

  private async open(place: Place, lease: CompiledLease, hit: Hit): Promise<void> {
    const former = place.allotment;
    place.allotment = undefined;
    const since = this.now();
    if (former) void this.giveBack([{ ...place, allotment: former }]);
    try {
      const taken = { ...hit, cost: lease.permits };
      const takesAhead = { name: `${this.instance}-${++this.takes}`, ttl: lease.ttl };
      const outcome = await this.store.decide([taken], { takesAhead });
      const { allowed, retryAfter } = outcome.verdicts[0]!;
      if (allowed) place.allotment = new Allotment(lease, taken, outcome, since, this.store);
      else place.notBefore = since + Math.min(retryAfter ?? Infinity, lease.ttl);
    } finally {
      place.coming = undefined;
    }
  }

  /** Gives back what was not used in time. */
  private look(): void {
    const now = this.now();
    const over = [...this.places.entries()].filter(
      ([, { allotment, coming, notBefore }]) =>
        !coming && notBefore <= now && (allotment?.isOver(now) ?? true),
    );
    for (const [key] of over) this.places.delete(key);
    void this.giveBack([...over.map(([, place]) => place), ...this.evicted.splice(0)]);
    if (this.places.size > 0 || this.taking.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async giveBack(places: readonly Place[]): Promise<void> {
    const now = this.now();
    const rests = places.flatMap(({ allotment }) => allotment?.rest(now) ?? []);
    if (rests.length > 0) await this.ledger.amend(rests);
  }
}
