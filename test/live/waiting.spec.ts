import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const BY = { by: 'ops@example.com' };
const HELD = { algorithm: 'concurrency', limit: 10, by: 'everyone' } as const;

/** The plan is in a header, for a test. */
const planOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-plan'];

const PLANS = { patient: { limit: 10, maxWait: '1m' } };

/** Ends the handlers that run. */
let end: () => void;
let ended: Promise<void>;
let inside = 0;

beforeEach(() => {
  ended = new Promise((resolve) => (end = resolve));
  inside = 0;
});

@Controller()
class Reports {
  @RateLimit({ ...HELD, name: 'report', cost: 8, maxWait: '1m' })
  @Get('report')
  async report() {
    inside += 1;
    await ended;
  }

  @RateLimit({ ...HELD, name: 'digest', cost: 8, plans: PLANS, plan: planOf })
  @Get('digest')
  async digest() {
    inside += 1;
    await ended;
  }

  @RateLimit('exports', { cost: 8 })
  @Get('export')
  export() {}
}

afterEach(closeApps);

describe.each(['Redis', 'memory'])('requests that wait with %s while their rule changes', (store) => {
  async function start() {
    const { app, send } = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({
            redis: store === 'Redis' ? redisUrl() : undefined,
            prefix: uniquePrefix(),
            onDemand: {
              jobs: HELD,
              batches: { window: '1h', limit: 10, by: 'everyone' },
              mails: { window: '1h', limit: 10, by: 'api-key' },
              exports: { ...HELD, by: 'api-key' },
            },
            liveRules: new MemoryRuleSource(),
          }),
        ],
        controllers: [Reports],
      },
      { framework: 'express' },
    );
    return { limits: app.get(RateLimitService), send };
  }

  it('a hold whose cost no longer fits is denied at once, and those behind it proceed', async () => {
    const { limits } = await start();
    const held = await limits.hold('jobs', 'everyone', { cost: 3 });
    const large = limits.hold('jobs', 'everyone', { cost: 8, maxWait: '1h' });
    const small = limits.hold('jobs', 'everyone', { cost: 2, maxWait: '1h' });
    expect((await limits.peek('jobs', 'everyone')).allowed).toBe(false);
    await limits.rules.set('jobs', { limit: 5 }, BY);
    expect(await large).toMatchObject({
      allowed: false,
      decision: { rule: 'jobs', limit: 5, retryAfterMs: null },
    });
    expect(await small).toMatchObject({ allowed: true, decision: { limit: 5 } });
    await (await small).release();
    await held.release();
  });

  it('a hold that waits gets the permits of a raised limit', async () => {
    const { limits } = await start();
    const held = await limits.hold('jobs', 'everyone', { cost: 10 });
    const next = limits.hold('jobs', 'everyone', { maxWait: '1h' });
    await limits.rules.set('jobs', { limit: 11 }, BY);
    expect((await next).allowed).toBe(true);
    await (await next).release();
    await held.release();
  });

  it('an acquire whose cost no longer fits is denied at once', async () => {
    const { limits } = await start();
    await limits.consume('batches', 'everyone', { cost: 5 });
    const large = limits.acquire('batches', 'everyone', { cost: 8 });
    await limits.rules.set('batches', { limit: 7 }, BY);
    expect(await large).toMatchObject({ allowed: false, limit: 7, retryAfterMs: null });
  });

  it('an acquire and a hold that wait proceed at once when their rules deny no longer', async () => {
    const { limits } = await start();
    await limits.consume('batches', 'everyone', { cost: 10 });
    const held = await limits.hold('jobs', 'everyone', { cost: 10 });
    const acquired = limits.acquire('batches', 'everyone');
    const next = limits.hold('jobs', 'everyone', { maxWait: '1h' });
    expect((await limits.peek('jobs', 'everyone')).allowed).toBe(false);
    await limits.rules.set('batches', { mode: 'shadow' }, BY);
    await limits.rules.set('jobs', { mode: 'shadow' }, BY);
    expect(await acquired).toMatchObject({ allowed: true, decisions: [{ allowed: false, shadow: true }] });
    expect((await next).allowed).toBe(true);
    await (await next).release();
    await held.release();
    expect((await limits.peek('jobs', 'everyone')).remaining).toBe(9);
  });

  it('an acquire and a hold that wait proceed at once when an exception allows their subject', async () => {
    const { limits } = await start();
    await limits.consume('mails', 'ann', { cost: 10 });
    const held = await limits.hold('exports', 'ann', { cost: 10 });
    const acquired = limits.acquire('mails', 'ann');
    const next = limits.hold('exports', 'ann', { maxWait: '1h' });
    expect((await limits.peek('exports', 'ann')).allowed).toBe(false);
    await limits.rules.setException('mails', 'ann', 'allow', BY);
    await limits.rules.setException('exports', 'ann', 'allow', BY);
    expect((await acquired).allowed).toBe(true);
    expect((await next).allowed).toBe(true);
    await (await next).release();
    await held.release();
    await limits.rules.unsetException('exports', 'ann', BY);
    expect((await limits.peek('exports', 'ann')).remaining).toBe(9);
  });

  it('a request that waits on a route is denied at once if its cost no longer fits', async () => {
    const { limits, send } = await start();
    const first = send({ path: '/report' });
    await until(() => inside === 1, 'the first request');
    const second = send({ path: '/report' });
    const counter = { route: [Reports, 'report'] } as const;
    await until(
      async () => (await limits.peek(counter, 'everyone', { cost: 1 })).remaining === 0,
      'the second request to wait',
    );
    await limits.rules.set('report', { limit: 5, cost: 5 }, BY);
    expect((await second).status).toBe(429);
    end();
    expect((await first).status).toBe(200);
  });

  it('a request waits if the exception of its subject has a maxWait', async () => {
    const { limits, send } = await start();
    const ask = () => send({ path: '/export', headers: { 'x-api-key': 'ann' } });
    const held = await limits.hold('exports', 'ann', { cost: 3 });
    expect((await ask()).status).toBe(429);
    await limits.rules.setException('exports', 'ann', { maxWait: '1m' }, BY);
    const waiting = ask();
    await until(async () => (await limits.peek('exports', 'ann')).remaining === 0, 'the request to wait');
    await held.release();
    expect((await waiting).status).toBe(200);
  });

  it('a request waits no longer than the exception of its subject allows', async () => {
    const { limits, send } = await start();
    const first = send({ path: '/report' });
    await until(() => inside === 1, 'the first request');
    await limits.rules.setException('report', 'everyone', { maxWait: '1ms' }, BY);
    expect((await send({ path: '/report' })).status).toBe(429);
    end();
    expect((await first).status).toBe(200);
  }, 30_000); // The rule itself would wait for a minute.

  it('a request waits if its plan has a maxWait', async () => {
    const { send } = await start();
    const first = send({ path: '/digest' });
    await until(() => inside === 1, 'the first request');
    const waiting = send({ path: '/digest', headers: { 'x-plan': 'patient' } });
    expect((await send({ path: '/digest' })).status).toBe(429);
    end();
    expect((await first).status).toBe(200);
    expect((await waiting).status).toBe(200);
  });
});
