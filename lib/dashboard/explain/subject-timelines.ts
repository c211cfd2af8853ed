import type { RecordedRequests } from '../../nest/explanation.js';

/** Maximum number of subjects: those whose last denial is the latest. */
export const MOST_SUBJECTS = 1000;
/** Maximum number of entries of a subject. */
const MOST_ENTRIES = 64;
/** Denied requests within this time are one entry: a client that repeats them does not remove the allowed ones. */
const JOINED_MS = 1000;

/** The requests of the subjects under a rule that were denied, each from its first denial, in bounded memory. */
export class SubjectTimelines {
  /** The time and the number of requests of each entry, the oldest first. The number of denied requests is negative. */
  private readonly known = new Map<number, number[]>();

  /** @param key names the subject, the rule and the route */
  add(key: number, now: number, isDenied: boolean): void {
    const entries = this.known.get(key) ?? (isDenied ? [] : undefined);
    if (!entries) return;
    if (isDenied && entries.at(-1)! < 0 && now - entries.at(-2)! < JOINED_MS) {
      entries[entries.length - 1]! -= 1;
      return;
    }
    entries.push(now, isDenied ? -1 : 1);
    if (entries.length > 2 * MOST_ENTRIES) entries.splice(0, 2);
    if (isDenied) this.keep(key, entries);
  }

  /** Returns the entries of a subject, the oldest first; none if it is not recorded. */
  read(key: number): RecordedRequests['requests'] {
    const entries = this.known.get(key) ?? [];
    return Array.from({ length: entries.length / 2 }, (_, nth) => {
      const [at, count] = entries.slice(2 * nth) as [number, number];
      return { at, outcome: count < 0 ? 'denied' : 'allowed', count: Math.abs(count) };
    });
  }

  /** The subject whose last denial is the oldest makes room. */
  private keep(key: number, entries: number[]): void {
    this.known.delete(key); // to the end, as the subject with the latest denial
    this.known.set(key, entries);
    const [oldest] = this.known.keys();
    if (this.known.size > MOST_SUBJECTS) this.known.delete(oldest!);
  }
}
