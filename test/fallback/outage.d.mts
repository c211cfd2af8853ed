import type { RedisServer } from '../support/redis/redis-server.mjs';
import type { Answer, LimitedApps, Report } from './limited-apps.mjs';

/** What happened to several applications in an outage, one of each a process. */
export interface Outage {
  /** The answers to a client: 40 that Redis allowed, from the first process, then 200 of each in the outage. */
  readonly answers: readonly (readonly Answer[])[];
  /** What each process had reported before, and in the end of the outage. */
  readonly before: readonly Report[];
  readonly after: readonly Report[];
}

/** Each makes a Redis that has decided unable to decide, and returns what ends that. */
export declare const FAULTS: Readonly<Record<string, (server: RedisServer) => Promise<() => Promise<void>>>>;

/** An outage from when all is well until Redis answers again. */
export declare function outage(
  server: RedisServer,
  apps: LimitedApps,
  fault: string,
  client: string,
): Promise<Outage>;

/** How many requests were allowed: by Redis in all processes, by the fallback in each. */
export declare function allowedIn(answers: Outage['answers']): {
  readonly redis: number;
  readonly fallback: readonly number[];
};

export declare function sum(numbers: readonly number[]): number;
