/** An entry of an `LruMap`. The map owns the fields besides the key. */
export abstract class LruEntry<Self extends LruEntry<Self>> {
  /** The map that holds the entry; absent if none does. */
  map: LruMap<Self> | undefined = undefined;
  /** The entry that was used before this one, and the one after. */
  older: Self | undefined = undefined;
  newer: Self | undefined = undefined;

  /** @param size its part of the total size, which `LruMap.resize` changes */
  constructor(
    readonly key: string,
    public size: number,
  ) {}

  /** Called when the map no longer holds the entry: frees what it keeps, since a place may still refer to it. */
  release(): void {
    // Nothing that is large.
  }
}

/** A key, and the entry in which it was last found: then the map need not look the key up again. */
export interface Place {
  readonly key: string;
  entry?: object | undefined;
}

/**
 * A map with a maximum number of entries and a maximum total size, which evicts the least recently used entries, but never
 * the one added last. The order of use is a list through the entries: the first key of a `Map` takes the longer to find,
 * the more keys before it were deleted.
 */
export class LruMap<Entry extends LruEntry<Entry>> {
  private readonly entries = new Map<string, Entry>();
  private oldest: Entry | undefined;
  private newest: Entry | undefined;
  /** Where the next sweep begins; absent for the oldest entry. */
  private sweptTo: Entry | undefined;
  private totalSize = 0;

  /** @param evicted is called with each entry that is evicted */
  constructor(
    private readonly mostEntries: number,
    private readonly mostSize: number,
    private readonly evicted: (entry: Entry) => void = () => undefined,
  ) {}

  /** Number of entries. */
  get count(): number {
    return this.entries.size;
  }

  /** Returns an entry, which does not count as its use. */
  get(key: string): Entry | undefined {
    return this.entries.get(key);
  }

  /** Returns the entry of a place, which does not count as its use. */
  find(place: Place): Entry | undefined {
    const known = place.entry as Entry | undefined;
    if (known?.map === this && known.key === place.key) return known;
    return (place.entry = this.entries.get(place.key));
  }

  /** Adds an entry, instead of one with the same key. */
  add(entry: Entry): void {
    this.delete(entry.key);
    this.entries.set(entry.key, entry);
    entry.map = this;
    this.link(entry);
    this.totalSize += entry.size;
    this.evict();
  }

  /** Makes an entry the most recently used. */
  use(entry: Entry): void {
    if (entry === this.newest) return;
    this.unlink(entry);
    this.link(entry);
  }

  /** Sets the size of an entry. If the map is too large then, other entries are evicted. */
  resize(entry: Entry, size: number): void {
    this.totalSize += size - entry.size;
    entry.size = size;
    if (this.totalSize <= this.mostSize) return;
    this.use(entry);
    this.evict();
  }

  /** Deletes an entry, and returns it; `undefined` if there is none. */
  delete(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry) this.drop(entry);
    return entry;
  }

  /** Deletes and returns the entries that are over, oldest first. Each call visits at most some, from where the last ended. */
  sweep(isOver: (entry: Entry) => boolean, most = Infinity): Entry[] {
    const over: Entry[] = [];
    let entry = this.sweptTo ?? this.oldest;
    for (let visited = 0; entry && visited < most; visited += 1) {
      const { newer } = entry;
      if (isOver(entry)) {
        this.drop(entry);
        over.push(entry);
      }
      entry = newer;
    }
    this.sweptTo = entry;
    return over;
  }

  private evict(): void {
    while (this.oldest !== this.newest && (this.count > this.mostEntries || this.totalSize > this.mostSize)) {
      const entry = this.oldest!;
      this.drop(entry);
      this.evicted(entry);
    }
  }

  private drop(entry: Entry): void {
    this.entries.delete(entry.key);
    this.unlink(entry);
    entry.map = undefined;
    entry.release();
    this.totalSize -= entry.size;
  }

  private link(entry: Entry): void {
    entry.older = this.newest;
    if (this.newest) this.newest.newer = entry;
    else this.oldest = entry;
    this.newest = entry;
  }

  private unlink(entry: Entry): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.oldest = newer;
    if (newer) newer.older = older;
    else this.newest = older;
    if (this.sweptTo === entry) this.sweptTo = newer;
    entry.older = entry.newer = undefined;
  }
}
