import type { RedisServer } from '../support/redis/redis-server.mjs';
import type { Answer, LimitedApps, Report } from './limited-apps.mjs';

/** What happened to several applications in an outage, with one entry per process. */
export interface Outage {
  /**
   * The responses to a client: 40 that Redis allowed, from the first process, then 200 of each process during the
   * outage.
   */
  readonly answers: readonly (readonly Answer[])[];
  /** The reports of each process before and at the end of the outage. */
  readonly before: readonly Report[];
  readonly after: readonly Report[];
}

/** Functions that make a Redis unable to decide. Each returns a function that ends the outage. */
export declare const FAULTS: Readonly<Record<string, (server: RedisServer) => Promise<() => Promise<void>>>>;

/** Runs an outage, from a Redis that decides until it decides again. */
export declare function outage(
  server: RedisServer,
  apps: LimitedApps,
  fault: string,
  client: string,
): Promise<Outage>;

/** Returns the number of allowed requests: by Redis in all processes, by the fallback in each. */
export declare function allowedIn(answers: Outage['answers']): {
  readonly redis: number;
  readonly fallback: readonly number[];
};

export declare function sum(numbers: readonly number[]): number;
