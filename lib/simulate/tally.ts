import type { Step } from '../contracts/algorithm.js';
import type { Client } from './clients.js';

/** The outcomes of a request, as positions of counts. */
export const [ALLOWED, DELAYED, DENIED] = [0, 1, 2];

/** Number of bars of a chart: even, since neighbours are joined when the time does not fit. */
const BARS = 120;

/** A part of the time: its start and length in seconds since the epoch, and its requests by outcome. */
export type Bar = ReturnType<Timeline['bars']>[number];

/** Counts requests by outcome in at most 120 bars of equal length, which doubles until the time fits. */
export class Timeline {
  private readonly counts = new Float64Array(BARS * 3);
  private start = -1;
  private width = 1;

  /** @param second seconds since the epoch, never before an earlier call */
  add(second: number, outcome: number): void {
    if (this.start < 0) this.start = second;
    while (second - this.start >= this.width * BARS) this.join();
    this.counts[Math.floor((second - this.start) / this.width) * 3 + outcome]! += 1;
  }

  /** Returns the bars up to the last one with a request. */
  bars() {
    const bars = Array.from({ length: BARS }, (_, index) => ({
      start: this.start + index * this.width,
      seconds: this.width,
      allowed: this.counts[index * 3]!,
      delayed: this.counts[index * 3 + 1]!,
      denied: this.counts[index * 3 + 2]!,
    }));
    return bars.slice(0, bars.findLastIndex((bar) => bar.allowed + bar.delayed + bar.denied > 0) + 1);
  }

  private join(): void {
    const { counts } = this;
    for (let index = 0; index < BARS / 2; index += 1) {
      for (let outcome = 0; outcome < 3; outcome += 1) {
        counts[index * 3 + outcome] = counts[index * 6 + outcome]! + counts[index * 6 + 3 + outcome]!;
      }
    }
    counts.fill(0, (BARS / 2) * 3);
    this.width *= 2;
  }
}

const MOST_LISTED = 10;

/** Counts the outcomes of one rule. */
export class Tally {
  private readonly outcomes = [0, 0, 0];
  private readonly timeline = new Timeline();
  /** The last second with a denial, and the one with the most. */
  private second = { at: -1, denied: 0 };
  private worstSecond = this.second;
  private clients = 0;
  private clientsDenied = 0;
  private readonly worst: { client: string; requests: number; denied: number }[] = [];

  /**
   * @param second seconds since the epoch, never before an earlier call
   * @param step `undefined` if the client was blocked
   */
  add(second: number, step: Step<unknown> | undefined): void {
    const outcome = !step?.allowed ? DENIED : step.delay > 0 ? DELAYED : ALLOWED;
    this.outcomes[outcome]! += 1;
    this.timeline.add(second, outcome);
    if (outcome !== DENIED) return;
    if (second !== this.second.at) this.second = { at: second, denied: 0 };
    this.second.denied += 1;
    if (this.second.denied > this.worstSecond.denied) this.worstSecond = this.second;
  }

  /** Counts a client with all its requests. */
  addClient({ key, requests }: Client, denied: number): void {
    this.clients += 1;
    if (denied === 0) return;
    this.clientsDenied += 1;
    this.worst.push({ client: key, requests, denied });
    this.worst.sort((one, other) => other.denied - one.denied).splice(MOST_LISTED);
  }

  result() {
    const [allowed, delayed, denied] = this.outcomes as [number, number, number];
    const { at, denied: deniedThen } = this.worstSecond;
    return {
      requests: allowed + delayed + denied,
      /** Includes the delayed requests. */
      allowed: allowed + delayed,
      delayed,
      denied,
      clients: this.clients,
      clientsDenied: this.clientsDenied,
      /** The clients with the most denied requests, the worst first: at most 10. */
      worstClients: this.worst,
      /** The second with the most denied requests, ISO 8601, in UTC; `null` without any. */
      worstSecond: denied === 0 ? null : { at: new Date(at * 1000).toISOString(), denied: deniedThen },
      timeline: this.timeline.bars(),
    };
  }
}
