import { afterAll, afterEach, beforeEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { send } from '../support/http-client.js';
import { FRAMEWORKS } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { ClosingApp } from './closing-app.js';
import { PATIENCE_MS } from './scale.js';

const SLOW = 20;
const HELD = 5;

describe.each(FRAMEWORKS)('an app that closes under load, on %s', (framework) => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url, { maxRetriesPerRequest: null });
  });
  beforeEach(() => redis.flushall());
  afterEach(async () => {
    await ClosingApp.killAll();
    if (!server.isUp) await server.restart();
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const permitsHeld = async () => {
    const [key] = await redis.keys('*:concurrency2');
    return key === undefined ? 0 : (await redis.zcard(key)) - 1;
  };

  /** Sends requests in sequence until the application accepts no more, and counts the responses. */
  async function askOn(port: number): Promise<number> {
    for (let answers = 0; ; answers++) {
      try {
        await send(port, { path: '/busy' });
      } catch {
        return answers;
      }
    }
  }

  const REDIS = [
    ['answers', () => Promise.resolve()],
    ['hangs', () => server.pause()],
    ['is dead', () => server.kill()],
  ] as const;

  it.each(REDIS)(
    'an application that closes under load responds to every received request and exits when Redis %s',
    async (_, happens) => {
      const app = await ClosingApp.start(framework, server.url);
      const slow = Array.from({ length: SLOW }, () => send(app.port, { path: '/slow' }));
      await until(async () => (await permitsHeld()) === SLOW, 'the slow requests to be in');
      const held = Array.from({ length: HELD }, () => send(app.port, { path: '/held' }));
      const busy = Array.from({ length: 10 }, () => askOn(app.port));
      for (let received = 0; received < HELD;) received = (await app.says())['held']!;
      await happens();

      const { code, said } = await app.close();
      expect(code).toBe(0);
      const answers = await Promise.all([...slow, ...held]);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const counts = await Promise.all(busy);
      const answered = counts.reduce((sum, count) => sum + count, answers.length);
      expect(said).toEqual({ received: answered, answered });
    },
    PATIENCE_MS,
  );

  it(
    'an application that closes under load releases its held permits',
    async () => {
      const app = await ClosingApp.start(framework, server.url);
      const slow = Array.from({ length: SLOW }, () => send(app.port, { path: '/slow' }));
      await until(async () => (await permitsHeld()) === SLOW, 'the slow requests to be in');
      await app.close();
      await Promise.all(slow);
      expect(await permitsHeld()).toBe(0);
    },
    PATIENCE_MS,
  );
});
