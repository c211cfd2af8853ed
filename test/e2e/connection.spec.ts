import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const RULES: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 2, algorithm: 'fixed-window' } },
  timeout: 10_000,
};

let server: RedisServer;
let admin: Redis;

/** Returns the connections to the server besides those of this spec. */
async function connections(): Promise<number> {
  const list = String(await admin.client('LIST'));
  return list.trim().split('\n').length - 1;
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('the connection to Redis on %s', (framework) => {
  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
  });
  afterEach(() => admin.flushall());
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  const start = async (redis: RateLimitModuleOptions['redis']) => {
    const started = await startApp(
      { imports: [RateLimitModule.forRoot({ ...RULES, redis })], controllers: [Routes] },
      { framework },
    );
    const { openCircuits } = started.app.get(RateLimiter).events;
    await until(async () => openCircuits.size === 0, 'a machine that takes a second to connect');
    return started;
  };

  async function statuses(get: (path: string) => Promise<{ status: number }>) {
    const found = [];
    for (let nth = 1; nth <= 3; nth++) found.push((await get('/')).status);
    return found;
  }

  it.each([
    ['a URL', () => server.url],
    ['ioredis options', () => ({ host: server.host, port: server.port })],
  ])('a connection to Redis from %s is closed with the application', async (_title, redis) => {
    const { close, get } = await start(redis());
    expect(await statuses(get)).toEqual([200, 200, 429]);
    await until(async () => (await connections()) === 2, 'the one on which denials are told');
    await close();
    await until(async () => (await connections()) === 0, 'the connection to be gone');
  });

  it("a user's client is duplicated and stays open, usable and unchanged", async () => {
    const mine = new Redis(server.url, { keyPrefix: 'mine:', maxRetriesPerRequest: 7 });
    mine.on('error', () => undefined);
    await mine.set('before', '1');
    const events = () =>
      Object.fromEntries(mine.eventNames().map((event) => [String(event), mine.listenerCount(event)]));
    const before = { options: { ...mine.options }, events: events(), properties: Object.keys(mine).sort() };
    try {
      const { close, get } = await start(mine);
      expect(await statuses(get)).toEqual([200, 200, 429]);
      await until(async () => (await connections()) === 3, 'the one on which denials are told');
      await close();
      await until(async () => (await connections()) === 1, 'the duplicate to be gone');
      expect(mine.status).toBe('ready');
      expect(await mine.get('before')).toBe('1');
      expect({
        options: { ...mine.options },
        events: events(),
        properties: Object.keys(mine).sort(),
      }).toEqual(before);
    } finally {
      mine.disconnect();
    }
  });

  it("the connection to Redis uses the user's database and key prefix", async () => {
    const { get } = await start({ host: server.host, port: server.port, db: 3, keyPrefix: 'app:' });
    await get('/');
    await admin.select(3);
    const counters = (await admin.keys('*')).filter((key) => key.includes(':default@'));
    expect(counters).toEqual(['app:rl:{127.0.0.1}:default@GET /:fixed-window2/60000']);
    await admin.select(0);
    expect(await admin.keys('*')).toEqual([]);
  });
});
