const PART = 1 << 20;

/** Requests in memory, for several replays: 20 bytes each. */
export class Trace {
  private readonly times: Float64Array[] = [];
  private readonly ids: Uint32Array[] = [];
  private mostId = -1;
  private used = PART;

  /** Number of requests. */
  get length(): number {
    return (this.times.length - 1) * PART + this.used;
  }

  add(time: number, id: number): void {
    if (this.used === PART) {
      this.times.push(new Float64Array(PART));
      this.ids.push(new Uint32Array(PART));
      this.used = 0;
    }
    this.times[this.times.length - 1]![this.used] = time;
    this.ids[this.ids.length - 1]![this.used] = id;
    this.used += 1;
    if (id > this.mostId) this.mostId = id;
  }

  /** Returns the times of each client's requests, the clients with the most requests first. */
  byClient(): readonly Float64Array[] {
    const { length } = this;
    const ends = new Float64Array(this.mostId + 2);
    this.each((_time, id) => (ends[id + 1]! += 1));
    for (let id = 0; id <= this.mostId; id += 1) ends[id + 1]! += ends[id]!;
    const sorted = new Float64Array(length);
    const next = ends.slice(0, -1);
    this.each((time, id) => (sorted[next[id]!++] = time));
    const clients = Array.from(next, (_end, id) => sorted.subarray(ends[id], ends[id + 1]));
    return clients.sort((one, other) => other.length - one.length);
  }

  private each(visit: (time: number, id: number) => void): void {
    const { length } = this;
    for (let index = 0; index < length; index += 1) {
      const part = Math.floor(index / PART);
      visit(this.times[part]![index % PART]!, this.ids[part]![index % PART]!);
    }
  }
}
