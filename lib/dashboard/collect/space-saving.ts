/** An element with its count: at most `count`, and at least `count - error`. */
export interface CountedElement {
  readonly element: string;
  readonly count: number;
  readonly error: number;
  /** What was given with the element the last time. */
  readonly note: string | undefined;
}

/** The most frequent elements of a stream. */
export interface Frequent {
  readonly elements: readonly CountedElement[];
  /** The largest count that an element that is not listed can have. */
  readonly rest: number;
}

/**
 * The Space-Saving sketch: finds the most frequent elements of a stream with a fixed number of counters. A new element
 * replaces the one with the smallest count, and inherits this count as its error.
 *
 * Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams (ICDT 2005).
 */
export class SpaceSaving {
  private readonly elements: string[] = [];
  private readonly notes: (string | undefined)[] = [];
  private readonly counts: Float64Array;
  private readonly errors: Float64Array;
  private readonly indexes = new Map<string, number>();

  /** @param size number of counters: an element with more than 1/size of the stream is always among them */
  constructor(private readonly size: number) {
    this.counts = new Float64Array(size);
    this.errors = new Float64Array(size);
  }

  add(element: string, note?: string): void {
    const index = this.indexes.get(element) ?? this.place(element);
    this.counts[index]! += 1;
    this.notes[index] = note;
  }

  /** Returns the elements, the most frequent first. */
  list(): Frequent {
    const elements = this.elements.map((element, index) => ({
      element,
      count: this.counts[index]!,
      error: this.errors[index]!,
      note: this.notes[index],
    }));
    const isFull = elements.length === this.size;
    return { elements: elements.sort(byCount), rest: isFull ? this.counts[this.smallest()]! : 0 };
  }

  private place(element: string): number {
    if (this.elements.length < this.size) {
      this.indexes.set(element, this.elements.length);
      return this.elements.push(element) - 1;
    }
    const index = this.smallest();
    this.indexes.delete(this.elements[index]!);
    this.indexes.set(element, index);
    this.elements[index] = element;
    this.errors[index] = this.counts[index]!;
    return index;
  }

  private smallest(): number {
    const { counts } = this;
    let smallest = 0;
    for (let index = 1; index < counts.length; index += 1) {
      if (counts[index]! < counts[smallest]!) smallest = index;
    }
    return smallest;
  }
}

/**
 * Merges sketches of several streams: the counts and errors of an element are added. Where an element is not listed, it
 * may have been counted up to `rest` times, which is added to both.
 */
export function mergeFrequent(sketches: readonly Frequent[], most: number): Frequent {
  const rest = sketches.reduce((sum, sketch) => sum + sketch.rest, 0);
  const merged = new Map<string, { count: number; error: number; note: string | undefined }>();
  for (const sketch of sketches) {
    for (const { element, count, error, note } of sketch.elements) {
      const known = merged.get(element) ?? { count: rest, error: rest, note };
      known.count += count - sketch.rest;
      known.error += error - sketch.rest;
      merged.set(element, known);
    }
  }
  return firstOf(
    Array.from(merged, ([element, counted]) => ({ element, ...counted })),
    rest,
    most,
  );
}

/** Returns the most frequent elements of a sketch. */
function firstOf(elements: readonly CountedElement[], rest: number, most: number): Frequent {
  const sorted = [...elements].sort(byCount);
  return { elements: sorted.slice(0, most), rest: Math.max(rest, sorted[most]?.count ?? 0) };
}

function byCount(one: CountedElement, other: CountedElement): number {
  return other.count - one.count || (one.element < other.element ? -1 : 1);
}

const SIZE = 128;

const ROTATED_AFTER_S = 300;

/** The subjects with the most denied requests of the last 5 to 10 minutes: two sketches, of 5 minutes each. */
export class DeniedSubjects {
  private current = new SpaceSaving(SIZE);
  private before: SpaceSaving | undefined;
  private since: number | undefined;

  /**
   * @param subject the text of a subject, see `subjectText`
   * @param route the route of the counter that denied; absent if routes share it
   */
  add(second: number, subject: string, route: string | undefined): void {
    this.rotate(second);
    this.current.add(subject, route);
  }

  list(second: number, most: number): Frequent {
    this.rotate(second);
    const { current, before } = this;
    return mergeFrequent(before ? [before.list(), current.list()] : [current.list()], most);
  }

  private rotate(second: number): void {
    this.since ??= second;
    const age = second - this.since;
    if (age < ROTATED_AFTER_S) return;
    this.before = age < 2 * ROTATED_AFTER_S ? this.current : undefined;
    this.current = new SpaceSaving(SIZE);
    this.since = second;
  }
}
