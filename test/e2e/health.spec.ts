import { Controller, Get, Inject } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import {
  RateLimit,
  RateLimitHealth,
  RateLimitModule,
  SkipRateLimit,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { RedisKeys } from '../support/redis-keys.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(RateLimitHealth) private readonly rateLimit: RateLimitHealth,
  ) {}

  @SkipRateLimit()
  @HealthCheck()
  @Get('health')
  check() {
    return this.health.check([() => this.rateLimit.isHealthy(), () => this.rateLimit.isHealthy('limits')]);
  }

  @RateLimit({ window: '1m', limit: 100 })
  @Get()
  limited() {}
}

/** Returns the response of Terminus on the health route. */
async function start(options: RateLimitModuleOptions) {
  const { get } = await startApp(
    {
      imports: [TerminusModule.forRoot({ logger: false }), RateLimitModule.forRoot(options)],
      controllers: [Routes],
    },
    { framework: 'express' },
  );
  const health = async () => {
    const { status, body } = await get('/health');
    return { status, body: JSON.parse(body) };
  };
  return { get, health };
}

const WELL = { degraded: false, servers: [], warnings: [] };

const well = (details: object) => {
  const both = { rateLimit: details, limits: details };
  return { status: 200, body: { status: 'ok', info: both, error: {}, details: both } };
};

afterEach(closeApps);

// The health route reports whether Redis decides, and a load balancer keeps an application that still responds.
describe('the health indicator in Terminus', () => {
  it('the health indicator is up with the memory store', async () => {
    const { health } = await start({});
    expect(await health()).toEqual(
      well({ status: 'up', store: 'memory', onStoreError: 'local', instances: 1, ...WELL }),
    );
  });

  it('the health indicator is up with Redis and leaves no key', async () => {
    const prefix = uniquePrefix();
    const { health } = await start({ redis: redisUrl(), prefix, timeout: 10_000 });
    expect(await health()).toEqual(
      well({ status: 'up', store: 'redis', onStoreError: 'local', instances: 1, ...WELL }),
    );
    const keys = new RedisKeys(redisUrl(), prefix);
    expect(await keys.names()).toEqual([]);
    keys.close();
  });
});

describe('the health indicator when Redis dies', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  beforeEach(() => server.restart());

  const lost = (onStoreError: string) => ({
    store: 'redis',
    onStoreError,
    instances: 1,
    degraded: true,
    reason: expect.stringMatching(/^no connection to Redis at 127\.0\.0\.1:\d+/),
    servers: [{ server: '', reason: expect.stringMatching(/^no connection to Redis at 127\.0\.0\.1:\d+/) }],
    warnings: ['RL_REDIS_UNAVAILABLE'],
  });

  it.each(['allow', 'local'] as const)(
    'the health indicator stays up with %s and reports why Redis is not used',
    async (policy) => {
      const { get, health } = await start({ redis: server.url, onStoreError: policy, timeout: 10_000 });
      await server.kill();
      expect(await health()).toMatchObject(well({ status: 'up', ...lost(policy) }));
      expect((await get('/')).status).toBe(200);
    },
  );

  it("the health indicator is down with onStoreError 'deny' and recovers automatically", async () => {
    const { get, health } = await start({ redis: server.url, onStoreError: 'deny', timeout: 10_000 });
    await server.kill();
    const { status, body } = await health();
    expect([status, body.status]).toEqual([503, 'error']);
    expect(body.error.rateLimit).toMatchObject({ status: 'down', ...lost('deny') });
    expect((await get('/')).status).toBe(503);
    await server.restart();
    await until(async () => (await health()).status === 200, 'Redis to decide again');
    expect((await health()).body.details.rateLimit).toMatchObject({ status: 'up', ...WELL });
  });
});
