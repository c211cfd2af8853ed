import { Controller, Get, Post, HttpCode, type INestApplication } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RedisStore } from '../../lib/redis.js';
import { closeApps, startApp, type TestApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { subjectsApart } from './places.js';

const hour = { window: '1h', algorithm: 'fixed-window', scope: 'shared' } as const;

const rules = {
  all: { ...hour, limit: 40, by: 'everyone' },
  user: { ...hour, limit: 10, by: 'user' },
  ip: { ...hour, limit: 20, by: 'ip' },
} as const;

@Controller()
class Routes {
  @Get() get() {}

  @RateLimit({ name: 'user', count: 'failures' })
  @HttpCode(401)
  @Post()
  fail() {}

  @RateLimit({ name: 'user', count: 'failures' })
  @Get('success')
  succeed() {}
}

/** Lets a test be any user. */
function authenticate(app: INestApplication): void {
  app.use((request: { user?: object; headers: Record<string, string> }, _: object, next: () => void) => {
    request.user = { id: request.headers['x-user'] };
    next();
  });
}

describe('rules by ip, user and everyone, on a cluster', () => {
  const time = new VirtualTime();
  let cluster: RedisCluster;
  let mine: Cluster;
  let users: [string, string, string];

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    users = await subjectsApart(cluster);
    mine = new Cluster(cluster.startNodes);
  });

  afterEach(closeApps);
  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  async function start(prefix = uniquePrefix()) {
    const store = new RedisStore({ redis: mine, clock: time.clock, timeout: 10_000 });
    const app = await startApp(
      { imports: [RateLimitModule.forRoot({ rules, prefix, onStoreError: 'deny' })], controllers: [Routes] },
      { framework: 'express', store, trustProxy: true, configure: authenticate },
    );
    const service = app.app.get(RateLimitService);
    const left = async (user: string, ip: string) => {
      const subjects = Object.entries({ all: 'everyone', user, ip });
      const peeked = subjects.map(([rule, subject]) => service.peek(rule, subject, { cost: 0 }));
      return (await Promise.all(peeked)).map(({ remaining }) => remaining);
    };
    return { ...app, left };
  }

  const ask = ({ send }: Pick<TestApp, 'send'>, user: string, ip: string, path = '/', method = 'GET') =>
    send({ method, path, headers: { 'x-user': user, 'x-forwarded-for': ip } });

  it('a request on a cluster is counted by all its rules, or by none if any rule denies it', async () => {
    const app = await start();
    const [ann, bob] = users;
    for (let nth = 1; nth <= 10; nth++) expect((await ask(app, ann, '192.0.2.1')).status).toBe(200);
    expect(await app.left(ann, '192.0.2.1')).toEqual([30, 0, 10]);
    for (let nth = 1; nth <= 2; nth++) {
      const denied = await ask(app, ann, '192.0.2.1');
      expect(denied.status).toBe(429);
      expect(JSON.parse(denied.body)['violated-policies']).toEqual(['user']);
      expect(await app.left(ann, '192.0.2.1')).toEqual([30, 0, 10]);
    }
    expect((await ask(app, bob, '192.0.2.1')).status).toBe(200);
    expect(await app.left(bob, '192.0.2.1')).toEqual([29, 9, 9]);
  });

  it('each rule on a cluster refunds the requests that its own count option excludes', async () => {
    const app = await start();
    const [, , cid] = users;
    expect((await ask(app, cid, '192.0.2.3', '/success')).status).toBe(200);
    expect(await app.left(cid, '192.0.2.3')).toEqual([39, 10, 19]);
    expect((await ask(app, cid, '192.0.2.3', '/', 'POST')).status).toBe(401);
    expect(await app.left(cid, '192.0.2.3')).toEqual([38, 9, 18]);
  });

  it("two instances of an application on a cluster never exceed any of the rules' limits", async () => {
    const prefix = uniquePrefix();
    const apps = [await start(prefix), await start(prefix)];
    const asked = users.flatMap((user, at) =>
      Array.from({ length: 30 }, (_, nth) => ask(apps[nth % 2]!, user, `192.0.2.${at + 1}`)),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    // The rules by user are the strictest: the other rules still have permits when these deny.
    const left = await Promise.all(users.map((user, at) => apps[0]!.left(user, `192.0.2.${at + 1}`)));
    const admitted = statuses.filter((status) => status === 200).length;
    expect(left.map(([all]) => all)).toEqual([1, 2, 3].map(() => 40 - admitted));
    expect(left.reduce((sum, [, user]) => sum + (10 - user!), 0)).toBe(admitted);
    expect(left.reduce((sum, [, , ip]) => sum + (20 - ip!), 0)).toBe(admitted);
    expect(admitted).toBeLessThanOrEqual(30);
  });
});
