import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { said } from '../support/door-app.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const FIXED = { window: '1m', limit: 10, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe.each(SETUPS)(
  'a value that depends on the request, on $framework with $kind',
  ({ framework, kind }) => {
    /** Starts an application whose only route is `/`, with these rules. */
    function start(...rules: RouteRule[]) {
      @Controller()
      class Routes {
        @Get() get() {}
      }
      for (const rule of rules) RateLimit(rule)(Routes);
      const metadata = {
        imports: [RateLimitModule.forRoot({ prefix: uniquePrefix() })],
        controllers: [Routes],
      };
      return startApp(metadata, { framework, store: virtualStore(kind, new VirtualTime()) });
    }

    it('a function can set the limit, such as a higher one for paying clients', async () => {
      const limit = (context: ExecutionContext) => (said(context, 'x-plan') === 'paid' ? 100 : 5);
      const { get } = await start({ ...FIXED, limit });
      const free = limitHeaders(await get('/'));
      const paid = limitHeaders(await get('/', { 'x-plan': 'paid' }));
      expect([free['ratelimit'], paid['ratelimit']]).toEqual(['"default";r=4;t=48', '"default";r=98;t=58']);
    });

    it('a function can set the window', async () => {
      const window = (context: ExecutionContext) => (said(context, 'x-plan') === 'paid' ? '10s' : '1m');
      const { get } = await start({ ...FIXED, window });
      const paid = limitHeaders(await get('/', { 'x-plan': 'paid' }));
      expect(paid['ratelimit-policy']).toBe('"default";q=10;w=10');
      expect(limitHeaders(await get('/'))['ratelimit-policy']).toBe('"default";q=10;w=60');
    });

    it('a function can set the cost', async () => {
      const { get } = await start({ ...FIXED, cost: (context) => Number(said(context, 'x-cost') ?? 1) });
      const left = async (cost: string) => limitHeaders(await get('/', { 'x-cost': cost }))['ratelimit'];
      expect(await left('4')).toBe('"default";r=6;t=36');
      expect(await left('0')).toBe('"default";r=6;t=36');
      expect(await left('6')).toBe('"default";r=0;t=60');
    });

    it('an asynchronous function is called once per request although three rules use it', async () => {
      const limit = jest.fn(async () => 7);
      const window = jest.fn(() => '1m' as const);
      const cost = jest.fn(async () => 2);
      const skipIf = jest.fn(async () => false);
      const dynamic = { limit, window, cost, skipIf, algorithm: 'fixed-window' } as const;
      const { get } = await start(
        { ...dynamic, name: 'a' },
        { ...dynamic, name: 'b' },
        { ...dynamic, name: 'c', by: 'everyone' },
      );
      for (let requests = 1; requests <= 2; requests++) {
        expect((await get('/')).status).toBe(200);
        for (const resolver of [limit, window, cost, skipIf])
          expect(resolver).toHaveBeenCalledTimes(requests);
      }
    });

    it('a cost that never fits gets a 429 without Retry-After', async () => {
      const { get } = await start({ ...FIXED, cost: () => 11 });
      const answer = await get('/');
      expect(answer.status).toBe(429);
      expect(limitHeaders(answer)).toEqual({
        'ratelimit-policy': '"default";q=10;w=60',
        ratelimit: '"default";r=10',
      });
      expect(JSON.parse(answer.body)).toMatchObject({
        detail: 'Rule "default" allows 10 per 1 m; this request takes more at once, so ask for less.',
        retryAfterMs: null,
      });
    });

    it.each([
      ['limit: 0 as it stands', 0],
      ['limit: 0 from a function', () => 0],
    ])('a rule denies every request with %s', async (_title, limit) => {
      const { get } = await start({ ...FIXED, limit });
      const answer = await get('/');
      expect(answer.status).toBe(429);
      expect(limitHeaders(answer)).toEqual({
        'ratelimit-policy': '"default";q=0;w=60',
        ratelimit: '"default";r=0',
      });
    });
  },
);

describe('a rule whose limit is a function', () => {
  it('a rule with a limit function starts with any burst that some limit could refill in time', async () => {
    @Controller()
    class Exports {
      @RateLimit({ algorithm: 'token-bucket', window: '1d', limit: () => 5_000, burst: '2d' })
      @Get()
      export() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Exports] };
    const { get } = await startApp(metadata, { framework: 'express' });
    expect(limitHeaders(await get('/'))['ratelimit-policy']).toBe('"default";q=10000;w=172800');
  });
});
