import type { RateLimitHealthStatus } from '../../lib/index.js';

export type Source = 'redis' | 'cache' | 'fallback';

/** What a client receives. */
export interface Answer {
  readonly status: number;
  /** Where the decision comes from, as `onDecision` has it. */
  readonly source: Source;
  /** The header `RateLimit-Policy`. */
  readonly policy: string | null;
}

/** How many decisions had which source. */
export type Counts = Readonly<Partial<Record<Source, number>>>;

/** What an application has reported since its start. */
export interface Report {
  /** By `onDecision`. */
  readonly decisions: Counts;
  /** By the event `decision`. */
  readonly events: Counts;
  /** By OpenTelemetry's counter. */
  readonly metrics: Counts;
  readonly health: RateLimitHealthStatus;
  /** The package's own lines. */
  readonly log: readonly string[];
}

/** Processes with a Nest application each, which share a limit of 100 a day and a client. */
export declare class LimitedApps {
  static start(processes: number, redis: string): Promise<LimitedApps>;
  untilCounted(): Promise<void>;
  useUp(permits: number, client: string): Promise<readonly Answer[]>;
  /** The answers of each process to so many requests of a client, twenty at once every 100 ms. */
  ask(times: number, client: string): Promise<readonly (readonly Answer[])[]>;
  reports(): Promise<readonly Report[]>;
  close(): Promise<void>;
}
