import { setBack, type Clock } from '../../contracts/clock.js';
import { LruEntry, LruMap, type Place } from '../../contracts/lru-map.js';
import type { Adjustment } from '../../contracts/store.js';
import { every, type Timer } from '../../contracts/timer.js';

/**
 * A state in the map. V8 changes a field in place if it has held only floating-point numbers, so that a new state that is
 * a number allocates nothing that a garbage collection would have to copy.
 */
class Entry extends LruEntry<Entry> {
  /** The state if it is a number, else `NaN`. */
  private number = NaN;
  private other: unknown = undefined;
  expiresAt = NaN;
  /** Total size added to the map when the entry was last used. */
  usedAt = 0;

  get state(): unknown {
    return Number.isNaN(this.number) ? this.other : this.number;
  }

  set state(state: unknown) {
    const isNumber = typeof state === 'number';
    this.number = isNumber ? state : NaN;
    this.other = isNumber ? undefined : state;
  }

  override release(): void {
    this.state = undefined;
  }
}

const SWEEP_EVERY_MS = 1000;

const SWEPT_AT_ONCE = 1000;

/**
 * A map of states with a maximum total size: the least recently used states are evicted, and expired ones are deleted
 * by a timer. The key written last is never evicted, even if it alone exceeds the maximum.
 *
 * Only additions lead to evictions. Therefore a key counts as used again only after an eighth of the maximum size has been
 * added since its last use, which saves most requests from touching its neighbours in the order of use.
 */
export class Entries {
  private map: LruMap<Entry>;
  private readonly staysUsed: number;
  /** Total size ever added. */
  private added = 0;
  private sweeper: Timer | undefined;

  /**
   * @param maxSize the maximum total size
   * @param isGone whether a state that expires at an instant may be deleted now
   * @param evicted is called with the expiry of each state that is evicted
   */
  constructor(
    private readonly maxSize: number,
    private readonly isGone: (expiresAt: number) => boolean,
    private readonly evicted: (expiresAt: number) => void = () => undefined,
  ) {
    this.staysUsed = Math.floor(maxSize / 8);
    this.map = this.emptyMap();
  }

  /** Number of keys. */
  get count(): number {
    return this.map.count;
  }

  get(place: Place): unknown {
    return this.find(place)?.state;
  }

  /** @param size an integer from 1 */
  set(place: Place, state: unknown, expiresAt: number, size: number): void {
    const known = this.find(place);
    const entry = known ?? this.add(place, size);
    entry.state = state;
    entry.expiresAt = expiresAt;
    if (!known || size === known.size) return;
    this.added += Math.max(0, size - known.size);
    this.map.resize(known, size);
  }

  /** Deletes a state. Returns its expiry; `undefined` if there was none. */
  delete(key: string): number | undefined {
    return this.map.delete(key)?.expiresAt;
  }

  clear(): void {
    this.sweeper?.stop();
    this.sweeper = undefined;
    this.map = this.emptyMap();
  }

  /** An entry of a former map is not held, as its `map` shows. */
  private emptyMap(): LruMap<Entry> {
    return new LruMap<Entry>(Infinity, this.maxSize, ({ expiresAt }) => this.evicted(expiresAt));
  }

  private add(place: Place, size: number): Entry {
    const entry = new Entry(place.key, size);
    place.entry = entry;
    this.added += size;
    entry.usedAt = this.added;
    this.map.add(entry);
    this.sweeper ??= this.startSweeper();
    return entry;
  }

  private find(place: Place): Entry | undefined {
    const known = place.entry as Entry | undefined;
    const isHeld = known?.map === this.map && known.key === place.key;
    const entry = isHeld ? known : this.map.find(place);
    if (!entry) return undefined;
    if (this.added - entry.usedAt >= this.staysUsed) {
      this.map.use(entry);
      entry.usedAt = this.added;
    }
    return entry;
  }

  /** The timer must not keep a store alive that is dropped without being closed, such as a fallback. */
  private startSweeper(): Timer {
    const self = new WeakRef(this);
    const sweeper = every(SWEEP_EVERY_MS, () => {
      const entries = self.deref();
      if (entries) entries.sweep();
      else sweeper.stop();
    });
    return sweeper;
  }

  /** Deletes expired keys, a limited number per run, so that requests do not wait for it. */
  private sweep(): void {
    this.map.sweep(({ expiresAt }) => this.isGone(expiresAt), SWEPT_AT_ONCE);
    if (this.count === 0) this.clear();
  }
}

/** Milliseconds in which evictions are reported once. */
const REPORT_EVERY_MS = 3_600_000;

/** Returns the warning of a full store. */
export function fullMessage(maxKeys: number, fix: string): string {
  const keys = maxKeys.toLocaleString('en');
  return `The memory holds maxKeys (${keys}) counters, and the least recently used are deleted before they end: their subjects start with a full limit. ${fix}.`;
}

/** Emits the warning of a full store as one of the process. */
export function warnOfFull(maxKeys: number): void {
  process.emitWarning(fullMessage(maxKeys, 'Raise maxKeys, or count in Redis'), {
    type: 'RateLimitWarning',
    code: 'RL_MEMORY_FULL',
  });
}

/** Returns a function that calls back once an hour at most. */
export function hourly(stopwatch: Clock, report: () => void): () => void {
  let reportedAt = -Infinity;
  return () => {
    const now = stopwatch();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    report();
  };
}

/** A counter's last reset, and the instant of the first charge after it; in microseconds since the epoch. */
interface Reset {
  readonly at: number;
  readonly chargesFrom: number;
}

/** The last reset of each counter, stored as long as earlier charges could be refunded. */
export class Resets {
  /** The instant of the last reset of any counter, in microseconds since the epoch. */
  lastAt = 0;

  constructor(private readonly entries: Entries) {}

  /**
   * Stores the reset at `lastAt` for a counter: 1 microsecond later than each charge before it, so that it differs from
   * charges at the same instant.
   *
   * @param expiresAt when the state of the counter would have expired
   */
  add(key: string, expiresAt: number): void {
    const { lastAt: at } = this;
    const reset = resetOf(key);
    const last = this.entries.get(reset) as Reset | undefined;
    const chargesFrom = (last?.at === at ? last.chargesFrom : at) + 1;
    const keptUntil = Math.max(expiresAt, this.entries.delete(reset.key) ?? 0);
    this.entries.set(reset, { at, chargesFrom } satisfies Reset, keptUntil, 1);
  }

  /** Whether a charge can no longer be refunded, since it was made before the clock was set back, or before a reset. */
  isCleared({ key, chargedAt }: Pick<Adjustment, 'key' | 'chargedAt'>, now: number): boolean {
    const from = this.chargesFrom(key);
    return setBack(chargedAt, now) > 0 || (chargedAt < from && setBack(from, now) === 0);
  }

  /** Returns the instant of the first charge after a counter's last reset; 0 if no earlier charge can be refunded. */
  chargesFrom(key: string): number {
    return (this.entries.get(resetOf(key)) as Reset | undefined)?.chargesFrom ?? 0;
  }
}

function resetOf(key: string): Place {
  return { key: `${key}:reset` };
}
