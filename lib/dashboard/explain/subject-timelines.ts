import type { RecordedRequests } from '../../nest/explanation.js';

/** Requests of a subject, with one outcome. */
type Entry = RecordedRequests['requests'][number];

/** Maximum number of subjects: those whose last denial is the latest. */
export const MOST_SUBJECTS = 1000;
/** Maximum number of entries of a subject. */
const MOST_ENTRIES = 64;
/** Denied requests within this time are one entry: a client that repeats them does not remove the allowed ones. */
const JOINED_MS = 1000;

const [AT, COUNT, WIDTH] = [0, 1, 2] as const;

/** The requests of one subject in a ring; a negative number is one of denied requests. */
interface Ring {
  readonly rows: Float64Array;
  /** Number of entries that were written, those that are overwritten included. */
  written: number;
}

/** The requests of the subjects under a rule that were denied, each from its first denial, in bounded memory. */
export class SubjectTimelines {
  private readonly rings = new Map<number, Ring>();

  /** @param key names the subject, the rule and the route */
  add(key: number, now: number, isDenied: boolean): void {
    const ring = this.rings.get(key) ?? (isDenied ? this.added() : undefined);
    if (!ring || !write(ring, now, isDenied) || !isDenied) return;
    this.rings.delete(key); // to the end, as the subject with the latest denial
    this.rings.set(key, ring);
  }

  /** Returns the entries of a subject, the oldest first; none if it is not recorded. */
  read(key: number): readonly Entry[] {
    const ring = this.rings.get(key);
    if (!ring) return [];
    const length = Math.min(ring.written, MOST_ENTRIES);
    return Array.from({ length }, (_, nth) => {
      const row = placeOf(ring.written - length + nth);
      const count = ring.rows[row + COUNT]!;
      return { at: ring.rows[row + AT]!, outcome: count < 0 ? 'denied' : 'allowed', count: Math.abs(count) };
    });
  }

  /** The subject whose denial is the oldest makes room: its ring is used again, since arrays are slow to allocate. */
  private added(): Ring {
    const [oldest] = this.rings.size < MOST_SUBJECTS ? [] : this.rings;
    if (!oldest) return { rows: new Float64Array(MOST_ENTRIES * WIDTH), written: 0 };
    this.rings.delete(oldest[0]);
    oldest[1].written = 0;
    return oldest[1];
  }
}

/** Returns whether the request is a new entry, rather than one more of the last. */
function write(ring: Ring, now: number, isDenied: boolean): boolean {
  const { rows } = ring;
  const last = placeOf(ring.written - 1);
  if (isDenied && ring.written > 0 && rows[last + COUNT]! < 0 && now - rows[last + AT]! < JOINED_MS) {
    rows[last + COUNT]! -= 1;
    return false;
  }
  const row = placeOf(ring.written);
  rows[row + AT] = now;
  rows[row + COUNT] = isDenied ? -1 : 1;
  ring.written += 1;
  return true;
}

function placeOf(nth: number): number {
  return (nth % MOST_ENTRIES) * WIDTH;
}
