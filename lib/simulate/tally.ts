import type { Client } from './client.js';
import { DENIED, type Outcome } from './decide.js';
import { Timeline, type Bar } from './timeline.js';

const MOST_LISTED = 10;

/** A client with denied requests. */
export interface DeniedClient {
  readonly client: string;
  readonly requests: number;
  readonly denied: number;
}

/** The second with the most denied requests. */
export interface WorstSecond {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly denied: number;
}

/** The result of one rule. */
export interface RuleTally {
  readonly requests: number;
  /** Includes the delayed requests. */
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
  readonly clients: number;
  readonly clientsDenied: number;
  /** The clients with the most denied requests, the worst first: at most 10. */
  readonly worstClients: readonly DeniedClient[];
  readonly worstSecond: WorstSecond | null;
  readonly timeline: readonly Bar[];
}

/** Counts the outcomes of one rule. */
export class Tally {
  private readonly outcomes = [0, 0, 0];
  private readonly timeline = new Timeline();
  private second = -1;
  private deniedInSecond = 0;
  private worstSecond = 0;
  private mostInSecond = 0;
  private clients = 0;
  private clientsDenied = 0;
  private readonly worst: DeniedClient[] = [];

  /** @param second seconds since the epoch, never before an earlier call */
  add(second: number, outcome: Outcome): void {
    this.outcomes[outcome]! += 1;
    this.timeline.add(second, outcome);
    if (outcome !== DENIED) return;
    if (second !== this.second) {
      this.second = second;
      this.deniedInSecond = 0;
    }
    this.deniedInSecond += 1;
    if (this.deniedInSecond > this.mostInSecond) {
      this.mostInSecond = this.deniedInSecond;
      this.worstSecond = second;
    }
  }

  /** Counts a client with all its requests. */
  addClient({ subject, requests }: Client, denied: number): void {
    this.clients += 1;
    if (denied === 0) return;
    this.clientsDenied += 1;
    const { worst } = this;
    if (worst.length === MOST_LISTED && worst[MOST_LISTED - 1]!.denied >= denied) return;
    const before = worst.findIndex((other) => other.denied < denied);
    worst.splice(before < 0 ? worst.length : before, 0, { client: subject, requests, denied });
    worst.length = Math.min(worst.length, MOST_LISTED);
  }

  result(): RuleTally {
    const [allowed, delayed, denied] = this.outcomes as [number, number, number];
    return {
      requests: allowed + delayed + denied,
      allowed: allowed + delayed,
      delayed,
      denied,
      clients: this.clients,
      clientsDenied: this.clientsDenied,
      worstClients: this.worst,
      worstSecond:
        denied === 0
          ? null
          : { at: new Date(this.worstSecond * 1000).toISOString(), denied: this.mostInSecond },
      timeline: this.timeline.bars(),
    };
  }
}
