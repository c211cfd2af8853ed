import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { outsideJest } from '../packaging/run-command.js';
import { DEFINITIONS } from '../support/examples.js';
import { send } from '../support/http-client.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { isFull, PATIENCE_MS, scaled, tell } from './scale.js';

const ALGORITHMS = DEFINITIONS.filter(({ leases }) => !leases).map(({ name }) => name);
const [LIMIT, WINDOW] = [50, 10];
const CLIENTS = 10;
const SECONDS = scaled(60, 12);

/** Milliseconds until the next request: of a client that spreads `r` over `t`, and of one that sends `r` at once. */
const PACES = [
  (r: number, t: number) => (r > 0 ? t / r : t) * 1000,
  (r: number, t: number) => (r > 0 ? 0 : t * 1000),
];

// test/scenarios/obedient-clients.spec.ts plays such clients in virtual time, with every algorithm.
describe('ten clients of two processes that obey the header RateLimit', () => {
  let server: RedisServer;
  const processes: ChildProcess[] = [];
  const ports: number[] = [];

  beforeAll(async () => {
    server = await startRedisServer();
    const rule = { limit: LIMIT, window: `${WINDOW}s`, by: 'x-client' };
    const RULES = JSON.stringify(
      Object.fromEntries(ALGORITHMS.map((algorithm) => [algorithm, { ...rule, algorithm }])),
    );
    for (let nth = 0; nth < 2; nth += 1) {
      const child = fork(fileURLToPath(new URL('obedient-app.mjs', import.meta.url)), {
        env: { ...outsideJest(), REDIS_URL: server.url, RULES },
        execArgv: [],
      });
      processes.push(child);
      const [{ port }] = (await once(child, 'message')) as [{ port: number }];
      ports.push(port);
    }
  });

  afterAll(async () => {
    for (const child of processes) child.kill();
    await server.stop();
  });

  /**
   * Sends requests to both processes in turn, and returns the part of the limit and of denials. The time is that which the
   * headers state, to which a busy machine adds, and for the leaky bucket that until the answers, since it delays them.
   */
  async function play(algorithm: string, client: number) {
    const pace = PACES[client % PACES.length]!;
    const start = performance.now();
    let [allowed, denied, waitedMs] = [0, 0, 0];
    while (performance.now() < start + SECONDS * 1000) {
      const askedAt = performance.now();
      const headers = { 'x-client': `client ${client}` };
      const answer = await send(ports[(allowed + client) % 2]!, { path: `/${algorithm}`, headers });
      if (answer.status === 200) allowed += 1;
      else denied += 1;
      if (algorithm === 'leaky-bucket') waitedMs += performance.now() - askedAt;
      const [, r, t] = /;r=(\d+);t=(\d+)/.exec(answer.headers['ratelimit']!)!;
      const waitMs = pace(Number(r), Number(t));
      waitedMs += waitMs;
      await sleep(waitMs);
    }
    const windows = waitedMs / (WINDOW * 1000);
    return { part: allowed / (windows * LIMIT), denied: denied / (allowed + denied) };
  }

  it(
    'get nearly their whole limit over HTTP, and hardly any 429',
    async () => {
      const played = ALGORITHMS.map(async (algorithm) => {
        const clients = Array.from({ length: CLIENTS }, (_, client) => play(algorithm, client));
        const results = await Promise.all(clients);
        const least = Math.min(...results.map(({ part }) => part));
        const denied = Math.max(...results.map((each) => each.denied));
        tell(`obedient clients, ${algorithm}`, { least, denied });
        return { algorithm, least, denied };
      });
      for (const { algorithm, least, denied } of await Promise.all(played)) {
        expect(denied).toBeLessThan(0.01);
        // A run of a few windows ends within one: the part is asserted at full scale only.
        if (isFull) expect(least).toBeGreaterThanOrEqual(algorithm === 'sliding-window-cells' ? 0.84 : 0.89);
      }
    },
    PATIENCE_MS,
  );
});
