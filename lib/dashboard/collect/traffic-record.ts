import { fieldsIn } from '../../contracts/fields.js';
import type { Resolved } from '../../rules/compiled-rule.js';

/** A request to record. */
export type AddedRequest = Omit<RecordedRequest, 'at' | 'refundedAt'>;

/** A request of the record. */
export type RecordedRequest = Readonly<ReturnType<typeof requestOf>>;

/** The requests of one process in the form in which it keeps them, and sends them to others: all requests of some subjects. */
export interface RecordedTraffic {
  /** The subjects whose hash ends with this number of zero bits: a share of 1/2^depth. */
  readonly depth: number;
  /** Since when all requests of these subjects are recorded, in milliseconds since the epoch; 0: none is missing. */
  readonly since: number;
  /** Each different value that requests determined for their rule. */
  readonly values: readonly Resolved[];
  /** The numbers of each request: see `TrafficRecord`. */
  readonly rows: readonly (readonly number[])[];
}

/** The requests of all processes. */
export type MergedTraffic = Readonly<ReturnType<typeof mergeTraffic>>;

/** For so many milliseconds, requests are recorded. */
export const RECORDED_MS = 600_000;

const SMALLEST = 512;

const LARGEST = 8192;

/** With fewer subjects than this, a sample of them would not represent the traffic. */
const FEWEST_SUBJECTS = 64;

const DEEPEST = 20;

/** Maximum number of different values. */
const MOST_VALUES = 1024;

/** The numbers of a request: of its value from 1 on, 0 without one; its end is the time of the refund, or one of the next two. */
const [AT, SUBJECT, ROUTE, COST, VALUE, END, WIDTH] = [0, 1, 2, 3, 4, 5, 6] as const;

const [CHARGED, DENIED] = [0, -1];

/**
 * The requests of one rule in the last ten minutes, in bounded memory: 48 bytes each. When the record is full, it keeps
 * every second subject, by their hash, so that it has all requests of each subject that it has, in every process the same
 * subjects. With few subjects it drops the oldest requests instead, and is shorter.
 */
export class TrafficRecord {
  private rows = new Float64Array(SMALLEST * WIDTH);
  private length = 0;
  private readonly numbers = new Map<string, number>();
  private values: Resolved[] = [];
  private depth = 0;
  private depthBefore = 0;
  private deepenedAt = 0;
  private since = 0;

  add(now: number, { subject, route, cost, isDenied, resolved }: AddedRequest): void {
    if (!isSampled(subject, this.depth)) return;
    if (this.length * WIDTH === this.rows.length) this.makeRoom(now);
    if (!isSampled(subject, this.depth)) return;
    const value = resolved === undefined ? 0 : this.numberOf(resolved, now);
    this.rows.set([now, subject, route, cost, value, isDenied ? DENIED : CHARGED], this.length * WIDTH);
    this.length += 1;
  }

  /**
   * Records that the permits of a request were refunded.
   *
   * @param at when the request was recorded; absent for the last one of its subject that is charged
   */
  refund(now: number, { subject, route }: Pick<AddedRequest, 'subject' | 'route'>, at = now): void {
    const { rows } = this;
    for (let row = (this.length - 1) * WIDTH; row >= 0; row -= WIDTH) {
      if (rows[row + SUBJECT] !== subject || rows[row + ROUTE] !== route) continue;
      if (rows[row + AT]! > at || rows[row + END] !== CHARGED) continue;
      rows[row + END] = Math.max(now, rows[row + AT]!);
      return;
    }
  }

  read(now: number): RecordedTraffic {
    this.expire(now);
    this.thin(now);
    const depth = Math.max(this.depth, this.depthBefore);
    const all = Array.from({ length: this.length }, (_, nth) =>
      Array.from(this.rows.subarray(nth * WIDTH, (nth + 1) * WIDTH)),
    );
    const rows = all.filter((row) => isSampled(row[SUBJECT]!, depth));
    return { depth, since: this.since, values: this.values, rows };
  }

  /** With too many different values, the record starts anew. */
  private numberOf(resolved: Resolved, now: number): number {
    const text = JSON.stringify(resolved);
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    if (this.values.length === MOST_VALUES) {
      this.numbers.clear();
      this.values = [];
      this.length = 0;
      this.since = now;
    }
    this.numbers.set(text, this.values.push(resolved));
    return this.values.length;
  }

  /** Makes room for a quarter of the requests, so that this is seldom done. */
  private makeRoom(now: number): void {
    this.expire(now);
    this.thin(now);
    const size = this.rows.length / WIDTH;
    if (this.length <= 0.75 * size) return;
    if (size < LARGEST) {
      const { rows } = this;
      this.rows = new Float64Array(2 * rows.length);
      this.rows.set(rows);
      return;
    }
    if (this.depth < DEEPEST && this.hasManySubjects()) {
      this.depth += 1;
      this.deepenedAt = now;
      this.keep((row) => isSampled(this.rows[row + SUBJECT]!, this.depth));
    }
    if (this.length <= 0.75 * size) return;
    const first = this.length - 0.75 * size;
    this.since = this.rows[(first - 1) * WIDTH + AT]! + 1;
    this.keep((row) => row >= first * WIDTH);
  }

  /** Samples more subjects again when the record has been short for ten minutes. */
  private thin(now: number): void {
    if (now - this.deepenedAt < RECORDED_MS) return;
    this.depthBefore = this.depth;
    if (this.depth === 0 || this.length > LARGEST / 4) return;
    this.depth -= 1;
    this.deepenedAt = now;
  }

  private hasManySubjects(): boolean {
    const subjects = Array.from({ length: this.length }, (_, nth) => this.rows[nth * WIDTH + SUBJECT]);
    return new Set(subjects).size >= FEWEST_SUBJECTS;
  }

  private expire(now: number): void {
    this.keep((row) => this.rows[row + AT]! > now - RECORDED_MS);
  }

  private keep(isKept: (row: number) => boolean): void {
    let end = 0;
    for (let row = 0; row < this.length * WIDTH; row += WIDTH) {
      if (!isKept(row)) continue;
      if (row > end) this.rows.copyWithin(end, row, row + WIDTH);
      end += WIDTH;
    }
    this.length = end / WIDTH;
  }
}

/** Whether a subject is in a sample of the share 1/2^depth. */
export function isSampled(subject: number, depth: number): boolean {
  return subject % 2 ** depth === 0;
}

/** Returns an integer of 32 bits for a text, the same in every process: FNV-1a, with the last step of MurmurHash3. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns the hash of a route; 0 if routes share a counter. */
export function routeHash(route: string | undefined): number {
  return route === undefined ? 0 : hashOf(route);
}

/** Returns the requests in a text of another process; `undefined` if it has another form. */
export function readTraffic(text: string): RecordedTraffic | undefined {
  const read = fieldsIn(text);
  const isTraffic = Array.isArray(read?.['rows']) && Array.isArray(read['values']);
  return isTraffic ? (read as unknown as RecordedTraffic) : undefined;
}

/** Merges the requests of several processes: those of the subjects and the time that all of them have. */
export function mergeTraffic(records: readonly RecordedTraffic[]) {
  const depth = Math.max(0, ...records.map((record) => record.depth));
  const since = Math.max(0, ...records.map((record) => record.since));
  const requests = records
    .flatMap(({ rows, values }) => rows.map((row) => requestOf(row, values)))
    .filter(({ at, subject }) => at >= since && isSampled(subject, depth))
    .sort((one, other) => one.at - other.at);
  return { depth, since, requests };
}

function requestOf(row: readonly number[], values: readonly Resolved[]) {
  const end = row[END]!;
  return {
    /** Milliseconds since the epoch. */
    at: row[AT]!,
    /** Hash of the subject. */
    subject: row[SUBJECT]!,
    /** Hash of the route of the counter. */
    route: row[ROUTE]!,
    cost: row[COST]!,
    /** Whether the rule denied it: its response is unknown. */
    isDenied: end === DENIED,
    /** When its permits were refunded or released, in milliseconds since the epoch; absent if they were not. */
    refundedAt: end > 0 ? end : undefined,
    /** What the request determined for its rule; requests share equal values. */
    resolved: values[row[VALUE]! - 1],
  };
}
