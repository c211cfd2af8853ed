/** Seconds of which requests are recorded. */
export const RECORDED_MS = 600_000;

const SMALLEST = 512;
const LARGEST = 8192;
/** With fewer subjects than this, a sample of them would not represent the traffic. */
const FEWEST_SUBJECTS = 64;
const DEEPEST = 20;

/** A request of the record. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Hash of the subject. */
  readonly subject: number;
  /** Hash of the route of the counter. */
  readonly route: number;
  readonly cost: number;
}

/** Requests of one rule: all requests of some subjects. */
export interface RecordedTraffic {
  /** The subjects whose hash ends with this number of zero bits: a share of 1/2^depth. */
  readonly depth: number;
  /** Since when all requests of these subjects are recorded, in milliseconds since the epoch; 0: none is missing. */
  readonly since: number;
  readonly requests: readonly RecordedRequest[];
}

/**
 * The requests of one rule in the last ten minutes, in bounded memory. When the record is full, it keeps every second
 * subject, by their hash, so that it has all requests of each subject that it has, in every process the same subjects.
 * With few subjects it keeps the last requests instead, and is shorter.
 */
export class TrafficRecord {
  private times = new Float64Array(SMALLEST);
  private subjects = new Uint32Array(SMALLEST);
  private routes = new Uint32Array(SMALLEST);
  private costs = new Uint32Array(SMALLEST);
  private first = 0;
  private length = 0;
  private depth = 0;
  private depthBefore = 0;
  private deepenedAt = 0;
  private since = 0;
  private overwrites = 0;

  add(now: number, subject: number, route: number, cost: number): void {
    if (!isSampled(subject, this.depth)) return;
    if (this.length === this.times.length) this.makeRoom(now);
    if (!isSampled(subject, this.depth)) return;
    const index = (this.first + this.length) % this.times.length;
    this.times[index] = now;
    this.subjects[index] = subject;
    this.routes[index] = route;
    this.costs[index] = cost;
    this.length += 1;
  }

  read(now: number): RecordedTraffic {
    this.expire(now);
    this.thin(now);
    const depth = Math.max(this.depth, this.depthBefore);
    const requests: RecordedRequest[] = [];
    for (let nth = 0; nth < this.length; nth += 1) {
      const index = (this.first + nth) % this.times.length;
      const subject = this.subjects[index]!;
      if (!isSampled(subject, depth)) continue;
      requests.push({
        at: this.times[index]!,
        subject,
        route: this.routes[index]!,
        cost: this.costs[index]!,
      });
    }
    return { depth, since: this.since, requests };
  }

  private makeRoom(now: number): void {
    this.expire(now);
    this.thin(now);
    if (this.length < this.times.length) return;
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
    this.since = this.times[this.first]! + 1;
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
    for (const subject of this.subjects) {
      subjects.add(subject);
      if (subjects.size >= FEWEST_SUBJECTS) return true;
    }
    return false;
  }

  private expire(now: number): void {
    while (this.length > 0 && this.times[this.first]! <= now - RECORDED_MS) this.drop();
  }

  private drop(): void {
    this.first = (this.first + 1) % this.times.length;
    this.length -= 1;
  }

  /** The indexes of the requests of sampled subjects, the oldest first. */
  private kept(): number[] {
    const indexes = Array.from({ length: this.length }, (_, nth) => (this.first + nth) % this.times.length);
    return indexes.filter((index) => isSampled(this.subjects[index]!, this.depth));
  }

  private replace(indexes: readonly number[], size: number): void {
    const { times, subjects, routes, costs } = this;
    this.times = new Float64Array(size);
    this.subjects = new Uint32Array(size);
    this.routes = new Uint32Array(size);
    this.costs = new Uint32Array(size);
    indexes.forEach((from, to) => {
      this.times[to] = times[from]!;
      this.subjects[to] = subjects[from]!;
      this.routes[to] = routes[from]!;
      this.costs[to] = costs[from]!;
    });
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
