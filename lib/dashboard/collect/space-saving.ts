import { entryOf } from '../../contracts/entry-of.js';

/** An element with its count: at most `count`, and at least `count - error`; the note is what came with it the last time. */
export type CountedElement = readonly [
  element: string,
  count: number,
  error: number,
  note?: string | null | undefined,
];

/** The most frequent elements of a stream. */
export interface Frequent {
  readonly top: readonly CountedElement[];
  /** The largest count that an element that is not listed can have. */
  readonly rest: number;
}

/** A counter of an element. */
interface Counter {
  count: number;
  error: number;
  note?: string | null | undefined;
}

/**
 * The Space-Saving sketch: finds the most frequent elements of a stream with a fixed number of counters. A new element
 * replaces the one with the smallest count, and inherits this count as its error.
 *
 * Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams (ICDT 2005).
 */
export class SpaceSaving {
  private readonly counters = new Map<string, Counter>();

  /** @param size number of counters: an element with more than 1/size of the stream is always among them */
  constructor(private readonly size: number) {}

  add(element: string, note?: string): void {
    const counter = this.counters.get(element) ?? this.added(element);
    counter.count += 1;
    counter.note = note;
  }

  /** Returns the elements, the most frequent first. */
  list(): Frequent {
    const top = listOf(this.counters);
    return { top, rest: top.length === this.size ? top.at(-1)![1] : 0 };
  }

  private added(element: string): Counter {
    const error = this.counters.size === this.size ? this.removeSmallest() : 0;
    const counter = { count: error, error };
    this.counters.set(element, counter);
    return counter;
  }

  /** Removes an element with the smallest count, and returns the count. */
  private removeSmallest(): number {
    let smallest = '';
    let least = Infinity;
    for (const [element, { count }] of this.counters) {
      if (count >= least) continue;
      smallest = element;
      least = count;
    }
    this.counters.delete(smallest);
    return least;
  }
}

/**
 * Merges sketches of several streams: the counts and errors of an element are added. Where an element is not listed, it
 * may have been counted up to `rest` times, which is added to both.
 */
export function mergeFrequent(sketches: readonly Frequent[], most: number): Frequent {
  const rest = sketches.reduce((sum, sketch) => sum + sketch.rest, 0);
  const merged = new Map<string, Counter>();
  for (const sketch of sketches) {
    for (const [element, count, error, note] of sketch.top) {
      const known = entryOf(merged, element, () => ({ count: rest, error: rest, note }));
      known.count += count - sketch.rest;
      known.error += error - sketch.rest;
    }
  }
  const top = listOf(merged);
  return { top: top.slice(0, most), rest: Math.max(rest, top[most]?.[1] ?? 0) };
}

/** Returns the elements, the most frequent first. */
function listOf(counters: ReadonlyMap<string, Counter>): CountedElement[] {
  const elements = Array.from(
    counters,
    ([element, { count, error, note }]) => [element, count, error, note] as const,
  );
  return elements.sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
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
