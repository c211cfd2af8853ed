import type { RateLimitModuleOptions } from '../../lib/index.js';
import { runProgram, type NodeProgram } from '../readme/node-program.js';
import { send, type Answer } from '../support/http-client.js';
import type { Framework } from '../support/nest-app.js';
import { redisUrl } from '../support/redis/shared-redis.js';

/** The name of an operation of `RateLimitService`, such as `rules.set`, and its arguments. */
type Operation = readonly [name: string, ...args: readonly unknown[]];

/** A process of an application with the rules `login` and `export`, and with the operations page. */
export interface DashboardProcess {
  readonly program: NodeProgram;
  readonly port: number;
  /** Of the page. */
  readonly url: string;
  /** Sends a GET request of the client with an IP address. */
  getFrom(ip: string, path: string): Promise<Answer>;
  /** Runs operations in the process, all at once. */
  operate(...operations: readonly Operation[]): Promise<readonly unknown[]>;
}

/**
 * Starts a process. `stopPrograms` stops it.
 *
 * @param options those of the module that are JSON, and the framework
 */
export async function startDashboardProcess(
  options: RateLimitModuleOptions & { readonly prefix: string; readonly framework?: Framework },
): Promise<DashboardProcess> {
  const all = { redis: redisUrl(), timeout: 5000, ...options };
  const program = runProgram('test/browser/dashboard-program.mjs', {}, [JSON.stringify(all)]);
  const port = Number((await program.said(/Listens on port (\d+)/))[1]);
  return {
    program,
    port,
    url: `http://127.0.0.1:${port}/rate-limits`,
    getFrom: (ip, path) => send(port, { path, headers: { 'x-forwarded-for': ip } }),
    operate: async (...operations) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(operations);
      const answer = await send(port, { method: 'POST', path: '/operate', headers, body });
      if (answer.status !== 201) throw new Error(`operate: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body) as unknown[];
    },
  };
}
