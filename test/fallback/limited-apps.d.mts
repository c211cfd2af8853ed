import type { RateLimitHealthStatus } from '../../lib/nest/rate-limit.health.js';

export type Source = 'redis' | 'cache' | 'fallback';

/** The response to a client. */
export interface Answer {
  readonly status: number;
  /** The source of the decision, as reported by the event `decision`. */
  readonly source: Source;
  /** The header `RateLimit-Policy`. */
  readonly policy: string | null;
}

/** Number of decisions by source. */
export type Counts = Readonly<Partial<Record<Source, number>>>;

/** The reports of an application since its start. */
export interface Report {
  /** Reported by the event `decision`. */
  readonly events: Counts;
  /** Reported by the counter of OpenTelemetry. */
  readonly metrics: Counts;
  readonly health: RateLimitHealthStatus;
  /** The log lines of the package. */
  readonly log: readonly string[];
}

/** Processes with a Nest application each, which share a limit of 100 per day and client. */
export declare class LimitedApps {
  static start(processes: number, redis: string): Promise<LimitedApps>;
  untilCounted(): Promise<void>;
  useUp(permits: number, client: string): Promise<readonly Answer[]>;
  /**
   * Sends a number of requests of a client to each process, twenty at once every 100 ms. Returns the responses of
   * each process.
   */
  ask(times: number, client: string): Promise<readonly (readonly Answer[])[]>;
  reports(): Promise<readonly Report[]>;
  close(): Promise<void>;
}
