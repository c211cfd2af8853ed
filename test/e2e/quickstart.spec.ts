import { Controller, Get, Module, Post } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

@RateLimit({ window: '1m', limit: 100, algorithm: 'sliding-window-log' })
@Controller('orders')
class OrdersController {
  @RateLimit({
    name: 'create-order',
    window: '1s',
    limit: 5,
    algorithm: 'token-bucket',
    burst: 10,
    by: 'user',
  })
  @Post()
  create() {}

  @SkipRateLimit()
  @Get('health')
  health() {}
}

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true }),
    RateLimitModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        redis: config.get('REDIS_URL'),
        rules: { default: { window: '1m', limit: 100, algorithm: 'sliding-window-counter' } },
        overrides: config.get('rateLimit'),
      }),
    }),
  ],
  controllers: [OrdersController],
})
class AppModule {}

const order = { method: 'POST', path: '/orders' };

afterEach(closeApps);

describe.each(FRAMEWORKS)(
  'an application with a rule of its controller, one of a handler and ConfigService, on %s',
  (framework) => {
    it('a route is limited by the rule of its controller and by its own', async () => {
      const store = virtualStore('memory', new VirtualTime());
      const { send } = await startApp({ imports: [AppModule] }, { framework, store });
      const answer = await send(order);
      expect(answer.status).toBe(201);
      expect(limitHeaders(answer)).toEqual({
        'ratelimit-policy': '"create-order";q=10;w=2, "default";q=100;w=60',
        ratelimit: '"create-order";r=9;t=1, "default";r=99;t=59',
      });
    });

    it('the eleventh order is denied at once, and one more is allowed after a fifth of a second', async () => {
      const time = new VirtualTime();
      const store = virtualStore('memory', time);
      const { send } = await startApp({ imports: [AppModule] }, { framework, store });
      for (let nth = 1; nth <= 10; nth++) expect((await send(order)).status).toBe(201);
      const refused = await send(order);
      expect(refused.status).toBe(429);
      expect(limitHeaders(refused)).toEqual({
        'ratelimit-policy': '"create-order";q=10;w=2, "default";q=100;w=60',
        ratelimit: '"create-order";r=0;t=1, "default";r=90',
        'retry-after': '1',
      });
      time.advance(200);
      expect((await send(order)).status).toBe(201);
      expect((await send(order)).status).toBe(429);
    });

    it('a skipped route is not limited', async () => {
      const { get } = await startApp({ imports: [AppModule] }, { framework });
      const answer = await get('/orders/health');
      expect(answer.status).toBe(200);
      expect(limitHeaders(answer)).toEqual({});
    });

    it('counters are in Redis as soon as REDIS_URL is set', async () => {
      const server = await startRedisServer();
      const redis = new Redis(server.url);
      const before = process.env['REDIS_URL'];
      process.env['REDIS_URL'] = server.url;
      try {
        const { send, logs } = await startApp({ imports: [AppModule] }, { framework });
        // A busy machine may exceed the default timeout, and the fallback would then decide the request.
        await until(async () => 'ratelimit' in limitHeaders(await send(order)), 'an order that Redis counts');
        const counters = (await redis.keys('*')).filter((key) => !/\{(instances|ready-\d+)\}/.test(key));
        expect(counters.sort()).toEqual([
          'rl:{0||9|127.0.0.1}:create-order@POST /orders:token-bucket2/1000/2000000',
          'rl:{127.0.0.1}:default@POST /orders:sliding-window-log2/60000',
        ]);
        expect(logs.ours().filter(({ level }) => level === 'log')).toEqual([]);
      } finally {
        if (before === undefined) delete process.env['REDIS_URL'];
        else process.env['REDIS_URL'] = before;
        redis.disconnect();
        await closeApps();
        await server.stop();
      }
    });
  },
);
