import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { SmallProcess, type Sent } from './small-process.js';
import { flood, PATIENCE_MS, scaled } from './scale.js';

const URLS = scaled(16_000, 500);
const BODIES = scaled(3000, 100);

/** What a test may leave in the process, in MB: 2 kB for each subject, and what the first requests of a route load. */
const MOST_LEFT_MB = 2 + (2 * URLS) / 1000;
/** The process starts with 25 MB; the strings of each test are 15 kB for each subject. */
const HEAP_MB = scaled(160, 64);

const pad = 'p'.repeat(15_000);
const longMail = (nth: number): string => `${'e'.repeat(90_000)}${nth}@example.com`;
const posted =
  (path: string) =>
  (nth: number): Sent => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: longMail(nth) }),
  });
const manyHeaders = Object.fromEntries(
  Array.from({ length: 100 }, (_, nth) => [`x-${nth}`, 'h'.repeat(120)]),
);
const hops = '10.0.0.1, '.repeat(1200);

/** Requests of which each has another subject, by what clients send. */
const KINDS: readonly (readonly [what: string, count: number, sent: (nth: number) => Sent])[] = [
  ['a subject in the path of a long URL', URLS, (nth) => ({ path: `/q/tenant-number-${nth}?pad=${pad}` })],
  [
    'a subject in the query of a long URL',
    URLS,
    (nth) => ({ path: `/query?tenant=tenant-number-${nth}&pad=${pad}` }),
  ],
  ...['list', 'blocked', 'shared'].map(
    (path) =>
      [
        `a subject in the query of a long URL under the rule "${path}"`,
        URLS,
        (nth: number) => ({ path: `/${path}?tenant=tenant-number-${nth}&pad=${pad}` }),
      ] as const,
  ),
  [
    'an IP in a long X-Forwarded-For',
    URLS,
    (nth) => ({
      path: '/address',
      headers: { 'x-forwarded-for': `${hops}100.101.${nth % 250}.${100 + Math.floor(nth / 250)}` },
    }),
  ],
  [
    'a part of a long header after many others',
    URLS,
    (nth) => ({
      path: '/header',
      headers: { ...manyHeaders, 'x-last': `subject-number-${nth}-${'l'.repeat(2000)}` },
    }),
  ],
  ['a long e-mail, denied the second time', 2 * BODIES, (nth) => posted('/email')(nth >> 1)],
  ['a long e-mail under a rule with prefetch', BODIES, posted('/hot')],
  ['a long e-mail beside an IP, denied the second time', 2 * BODIES, (nth) => posted('/mixed')(nth >> 1)],
];

describe.each([
  ['express', 'Redis'],
  ['fastify', 'memory'],
])('on %s with limits in %s', (framework, store) => {
  let redis: RedisServer | undefined;
  let app: SmallProcess;

  beforeAll(async () => {
    redis = store === 'Redis' ? await startRedisServer() : undefined;
    app = await SmallProcess.start(HEAP_MB, {
      FRAMEWORK: framework,
      ...(redis && { REDIS_URL: redis.url }),
    });
  });
  afterAll(async () => {
    await app.stop();
    await redis?.stop();
  });

  it.each(KINDS)(
    `a process keeps no more than the subjects of clients that send %s, on ${framework} with ${store}`,
    async (_what, count, sentBy) => {
      expect([200, 201]).toContain(await app.send(sentBy(0)));
      const before = await app.heapMb();
      await flood(count, (nth) => app.send(sentBy(nth + 2)));
      expect((await app.heapMb()) - before).toBeLessThan(MOST_LEFT_MB);
    },
    PATIENCE_MS,
  );

  it(
    `a process keeps nothing of waiting clients that have hung up, on ${framework} with ${store}`,
    async () => {
      const path = `/queue?tenant=tenant-that-waits&pad=${pad}`;
      const first = app.begin(path);
      const open = (count: number) =>
        until(async () => (await app.open()) === count, `${count} open`, 60_000);
      await open(1);
      const before = await app.heapMb();
      for (let round = 0; round < 10; round += 1) {
        const clients = Array.from({ length: URLS / 10 }, () => app.begin(path));
        await open(1 + clients.length);
        for (const client of clients) client.hangUp();
        await open(1);
      }
      expect((await app.heapMb()) - before).toBeLessThan(MOST_LEFT_MB);
      first.hangUp();
    },
    PATIENCE_MS,
  );
});
