import type { Resolved } from '../../rules/compiled-rule.js';
import {
  type AddedRequest,
  type RecordedRequest,
  type RecordedTraffic,
  RequestColumns,
  ResolvedValues,
} from './recorded-traffic.js';
import { isFields } from '../../contracts/fields.js';

/** Seconds of which requests are recorded. */
export const RECORDED_MS = 600_000;

const SMALLEST = 512;

const LARGEST = 8192;

/** With fewer subjects than this, a sample of them would not represent the traffic. */
const FEWEST_SUBJECTS = 64;

const DEEPEST = 20;

/** A request whose permits were refunded. */
interface Refunded {
  readonly subject: number;
  readonly route: number;
  /** When the request was recorded; absent for the last one of its subject that is charged. */
  readonly at?: number | undefined;
}

/**
 * The requests of one rule in the last ten minutes, in bounded memory. When the record is full, it keeps every second
 * subject, by their hash, so that it has all requests of each subject that it has, in every process the same subjects.
 * With few subjects it keeps the last requests instead, and is shorter.
 */
export class TrafficRecord {
  private columns = new RequestColumns(SMALLEST);
  private readonly values = new ResolvedValues();
  private first = 0;
  private length = 0;
  private depth = 0;
  private depthBefore = 0;
  private deepenedAt = 0;
  private since = 0;
  private overwrites = 0;

  add(now: number, request: AddedRequest): void {
    const { subject } = request;
    if (!isSampled(subject, this.depth)) return;
    if (this.length === this.columns.size) this.makeRoom(now);
    if (!isSampled(subject, this.depth)) return;
    const resolved = this.numberOf(request.resolved, now);
    this.columns.set(this.indexOf(this.length), now, request, resolved);
    this.length += 1;
  }

  /** Records that the permits of a request were refunded. */
  refund(now: number, { subject, route, at = now }: Refunded): void {
    if (!isSampled(subject, this.depth)) return;
    const { columns } = this;
    for (let nth = this.lastUntil(at); nth >= 0; nth -= 1) {
      const index = this.indexOf(nth);
      if (columns.subjects[index] !== subject || columns.routes[index] !== route) continue;
      if (!columns.isCharged(index)) continue;
      columns.refund(index, now);
      return;
    }
  }

  read(now: number): RecordedTraffic {
    this.expire(now);
    this.thin(now);
    const depth = Math.max(this.depth, this.depthBefore);
    const requests: RecordedRequest[] = [];
    for (let nth = 0; nth < this.length; nth += 1) {
      const index = this.indexOf(nth);
      if (!isSampled(this.columns.subjects[index]!, depth)) continue;
      const { resolved, ...request } = this.columns.at(index);
      const value = this.values.at(resolved);
      requests.push(value ? { ...request, resolved: value } : request);
    }
    return { depth, since: this.since, requests };
  }

  /** With too many different values, the record starts anew. */
  private numberOf(resolved: Resolved | undefined, now: number): number {
    const number = this.values.numberOf(resolved);
    if (number !== undefined) return number;
    this.values.clear();
    this.first = this.length = 0;
    this.since = now;
    return this.values.numberOf(resolved)!;
  }

  private indexOf(nth: number): number {
    return (this.first + nth) % this.columns.size;
  }

  /** The last request until a time, by its place in the order of requests; -1 without one. */
  private lastUntil(at: number): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.columns.times[this.indexOf(middle)]! <= at) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  private makeRoom(now: number): void {
    this.expire(now);
    this.thin(now);
    if (this.length < this.columns.size) return;
    if (this.length < LARGEST) {
      this.replace(this.kept(), this.length * 2);
      return;
    }
    if (this.overwrites === 0 && this.depth < DEEPEST && this.hasManySubjects()) {
      this.depth += 1;
      this.deepenedAt = now;
      this.replace(this.kept(), LARGEST);
      if (this.length < LARGEST) return;
    }
    if (this.overwrites === 0) this.overwrites = LARGEST / 4;
    this.overwrites -= 1;
    this.since = this.columns.times[this.first]! + 1;
    this.drop();
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
    const subjects = new Set<number>();
    for (const subject of this.columns.subjects) {
      subjects.add(subject);
      if (subjects.size >= FEWEST_SUBJECTS) return true;
    }
    return false;
  }

  private expire(now: number): void {
    while (this.length > 0 && this.columns.times[this.first]! <= now - RECORDED_MS) this.drop();
  }

  private drop(): void {
    this.first = (this.first + 1) % this.columns.size;
    this.length -= 1;
  }

  /** The indexes of the requests of sampled subjects, the oldest first. */
  private kept(): number[] {
    const indexes = Array.from({ length: this.length }, (_, nth) => this.indexOf(nth));
    return indexes.filter((index) => isSampled(this.columns.subjects[index]!, this.depth));
  }

  private replace(indexes: readonly number[], size: number): void {
    this.columns = this.columns.copy(indexes, size);
    this.first = 0;
    this.length = indexes.length;
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

/** A request in a text. The end is the time of the refund, -1 for a denied request, and 0 for a charged one. */
type Row = readonly [at: number, subject: number, route: number, cost: number, resolved: number, end: number];

/** Encodes the requests of one process for another one. */
export function trafficText({ depth, since, requests }: RecordedTraffic): string {
  const values = new ResolvedValues();
  const rows = requests.map(({ at, subject, route, cost, isDenied, refundedAt = 0, resolved }): Row => {
    return [at, subject, route, cost, values.numberOf(resolved)!, isDenied ? -1 : refundedAt];
  });
  return JSON.stringify({ depth, since, values: values.all.slice(1), rows });
}

/** Returns the requests in a text; `undefined` if it has another form. */
export function readTraffic(text: string): RecordedTraffic | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (!isFields(read) || !Array.isArray(read['rows']) || !Array.isArray(read['values'])) return undefined;
    const [rows, values] = [read['rows'] as Row[], read['values'] as RecordedRequest['resolved'][]];
    const requests = rows.map(([at, subject, route, cost, resolved, end]): RecordedRequest => {
      const request = { at, subject, route, cost, isDenied: end === -1 };
      const value = values[resolved - 1];
      return { ...request, ...(end > 0 && { refundedAt: end }), ...(value && { resolved: value }) };
    });
    return { depth: Number(read['depth']), since: Number(read['since']), requests };
  } catch {
    return undefined;
  }
}

/** Merges the requests of several processes: those of the subjects and the time that all of them have. */
export function mergeTraffic(records: readonly RecordedTraffic[]): RecordedTraffic {
  const depth = Math.max(0, ...records.map((record) => record.depth));
  const since = Math.max(0, ...records.map((record) => record.since));
  const requests = records
    .flatMap((record) => record.requests)
    .filter(({ at, subject }) => at >= since && isSampled(subject, depth))
    .sort((one, other) => one.at - other.at);
  return { depth, since, requests };
}
