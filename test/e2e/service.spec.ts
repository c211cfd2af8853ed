import { Controller, Get, Inject, Param } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitConfigError,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const MAIL = { name: 'mail', window: '1m', limit: 5, algorithm: 'fixed-window' } as const;

@Controller()
class BatchController {
  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  /** One permit for each item of the batch. */
  @Get('batch/:size')
  async send(@Param('size') size: string) {
    const { allowed, remaining } = await this.limits.consume(MAIL, 'tenant-42', { cost: Number(size) });
    return { allowed, remaining };
  }

  @RateLimit({ name: 'total', scope: 'shared', by: 'everyone' })
  @Get('total')
  total() {}
}

const OPTIONS: RateLimitModuleOptions = {
  rules: { total: { window: '1m', limit: 3, algorithm: 'fixed-window', by: 'everyone' } },
  overrides: { total: { limit: 4 } },
};

afterEach(closeApps);

describe.each(SETUPS)('RateLimitService on $framework with $kind', ({ framework, kind }) => {
  async function start(options: RateLimitModuleOptions = OPTIONS) {
    const time = new VirtualTime();
    const limits = RateLimitModule.forRoot({ prefix: uniquePrefix(), ...options });
    const metadata = { imports: [limits], controllers: [BatchController] };
    const { app, get } = await startApp(metadata, { framework, store: virtualStore(kind, time) });
    return { time, get, service: app.get(RateLimitService) };
  }

  it('consume charges a batch for all of its items or for none', async () => {
    const { get, time } = await start({ rules: { total: { window: '1m', limit: 100 } } });
    const sent = async (size: number) => JSON.parse((await get(`/batch/${size}`)).body) as object;
    expect(await sent(3)).toEqual({ allowed: true, remaining: 2 });
    expect(await sent(3)).toEqual({ allowed: false, remaining: 2 });
    expect(await sent(2)).toEqual({ allowed: true, remaining: 0 });
    time.advance(60_000);
    expect(await sent(5)).toEqual({ allowed: true, remaining: 0 });
  });

  it('consume returns the whole decision', async () => {
    const { service, time } = await start();
    await service.consume(MAIL, 'a', { cost: 4 });
    time.advance(42_500);
    const one = { rule: 'mail', limit: 5, windowMs: 60_000, delayMs: 0 };
    const left = { ...one, allowed: true, remaining: 0, retryAfterMs: 0, resetAfterMs: 17_500 };
    const last = { ...left, nextPermitMs: 17_500 };
    expect(await service.consume(MAIL, 'a')).toEqual({ ...last, source: kind, decisions: [last] });
    const none = { ...left, allowed: false, retryAfterMs: 17_500 };
    expect(await service.consume(MAIL, 'a')).toEqual({ ...none, source: kind, decisions: [none] });
  });

  it('consume takes permits from several rules or from none, and names each rule that denied', async () => {
    const { service } = await start();
    const hourly = { name: 'hourly', window: '1h', limit: 6, algorithm: 'gcra' } as const;
    await service.consume([MAIL, hourly], 'a', { cost: 4 });
    const denied = await service.consume([MAIL, hourly], 'a', { cost: 2 });
    expect(denied).toMatchObject({ allowed: false, rule: 'mail', remaining: 1 });
    expect(denied.decisions.map(({ rule, allowed, remaining }) => ({ rule, allowed, remaining }))).toEqual([
      { rule: 'mail', allowed: false, remaining: 1 },
      { rule: 'hourly', allowed: true, remaining: 2 },
    ]);
  });

  it('peek returns a decision without a charge', async () => {
    const { service } = await start();
    for (let nth = 1; nth <= 3; nth++) {
      expect(await service.peek(MAIL, 'a', { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 });
    }
    expect(await service.peek(MAIL, 'a', { cost: 6 })).toMatchObject({ allowed: false, retryAfterMs: null });
    expect(await service.consume(MAIL, 'a')).toMatchObject({ remaining: 4 });
  });

  it('reset affects one subject and no other', async () => {
    const { service } = await start();
    for (const subject of ['a', 'b']) await service.consume(MAIL, subject, { cost: 5 });
    await service.reset(MAIL, 'a');
    expect(await service.consume(MAIL, 'a')).toMatchObject({ allowed: true, remaining: 4 });
    expect(await service.consume(MAIL, 'b')).toMatchObject({ allowed: false });
  });

  it("consume by name uses a module's rule with its overrides and the counter of its routes", async () => {
    const { service, get } = await start();
    expect(await service.consume('total', 'everyone', { cost: 2 })).toMatchObject({ limit: 4, remaining: 2 });
    expect((await get('/total')).headers['ratelimit']).toBe('"total";r=1;t=15');
    expect(await service.consume('total', 'everyone')).toMatchObject({ allowed: true, remaining: 0 });
    expect((await get('/total')).status).toBe(429);
    await service.reset('total', 'everyone');
    expect((await get('/total')).status).toBe(200);
    expect(await service.peek('total', 'everyone', { cost: 0 })).toMatchObject({ remaining: 3 });
  });

  it('an unknown rule name is an error', async () => {
    const { service } = await start();
    const answer = service.consume('nobody', 'a');
    await expect(answer).rejects.toThrow(RateLimitConfigError);
    await expect(answer).rejects.toThrow(`rule "nobody": not in the module's \`onDemand\` or \`rules\``);
    await expect(service.consume('__proto__', 'a')).rejects.toThrow(RateLimitConfigError);
  });

  it('an error does not repeat a rule name of a megabyte', async () => {
    const { service } = await start();
    for (const name of ['x'.repeat(1e6), 'x '.repeat(5e5)]) {
      const error = await service.consume(name, 'a').catch((thrown: unknown) => String(thrown));
      expect(error).toMatch(/Rate limit configuration is wrong:\n {2}- rule "x/);
      expect(String(error).length).toBeLessThan(11_000);
    }
  });

  it('a rule that depends on a request is an error in programs', async () => {
    const { service } = await start({ rules: { total: { window: '1m', limit: () => 3 } } });
    await expect(service.consume('total', 'a')).rejects.toThrow(
      'rule "total": depends on the request: limit given as a function',
    );
  });

  it('an invalid rule or cost is an error with its cause', async () => {
    const { service } = await start();
    await expect(service.consume({ ...MAIL, limit: -1 }, 'a')).rejects.toThrow(
      'rule "mail".limit: got -1; allowed: an integer from 0 to 1000000000',
    );
    await expect(service.consume(MAIL, 'a', { cost: -1 })).rejects.toThrow(
      'cost: got -1; allowed: an integer from 0 to 1000000000',
    );
    await expect(service.consume([], 'a')).rejects.toThrow(
      'rules: got []; allowed: one rule or more, each of another name',
    );
  });
});
