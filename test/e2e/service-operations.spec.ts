import { Inject, Injectable } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';

const TOKENS = { name: 'tokens', window: '1m', limit: 100, algorithm: 'token-bucket' } as const;

/** A provider that limits calls without a route. */
@Injectable()
class Worker {
  constructor(@Inject(RateLimitService) readonly limits: RateLimitService) {}
}

afterEach(closeApps);

describe.each(STORES)('operations of RateLimitService, with %s', (kind) => {
  async function start(rules: NonNullable<RateLimitModuleOptions['rules']> = {}) {
    const time = new VirtualTime();
    const limits = RateLimitModule.forRoot({ rules, prefix: uniquePrefix() });
    const metadata = { imports: [limits], providers: [Worker] };
    const { app } = await startApp(metadata, { framework: 'express', store: virtualStore(kind, time) });
    return { time, limits: app.get(Worker).limits };
  }

  it('acquire reserves a permit once and waits for it, or denies at once', async () => {
    const { limits } = await start();
    const calls = { name: 'calls', window: '1s', limit: 50, burst: 1, algorithm: 'gcra' } as const;
    const acquire = (milliseconds: number) =>
      limits.acquire(calls, 'partner', { maxWait: `${milliseconds}ms` });
    expect(await acquire(0)).toMatchObject({ allowed: true, delayMs: 0 });
    expect(await acquire(20)).toMatchObject({ allowed: true, delayMs: 20 });
    expect(await acquire(39)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(await acquire(40)).toMatchObject({ allowed: true, delayMs: 40 });
  });

  it('acquire frees its place when it is aborted', async () => {
    const { limits } = await start();
    const calls = { name: 'calls', window: '1h', limit: 1, algorithm: 'gcra' } as const;
    await limits.acquire(calls, 'partner');
    const controller = new AbortController();
    const waiting = limits.acquire(calls, 'partner', { signal: controller.signal });
    controller.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    expect(await limits.peek(calls, 'partner', { cost: 0 })).toMatchObject({
      remaining: 0,
      resetAfterMs: 3_600_000,
    });
  });

  it("hold takes a permit of a module's rule, and release returns it", async () => {
    const { limits } = await start({ exports: { algorithm: 'concurrency', limit: 1 } });
    const rule = 'exports';
    {
      await using first = await limits.hold(rule, 'a');
      expect(first.allowed).toBe(true);
      expect((await limits.hold(rule, 'a')).allowed).toBe(false);
      expect((await limits.hold(rule, 'b')).allowed).toBe(true);
    }
    const next = await limits.hold(rule, 'a');
    expect(next.allowed).toBe(true);
    await next.release();
    await next.release();
    expect(await limits.peek(rule, 'a', { cost: 0 })).toMatchObject({ remaining: 1 });
    await expect(limits.consume('exports', 'a')).rejects.toThrow(
      'consume() needs a rule of an algorithm other than concurrency, but rule "exports" uses concurrency; use hold() instead',
    );
  });

  it('reserve charges an estimate that settle adjusts or cancel returns', async () => {
    const { limits, time } = await start();
    const left = async () => (await limits.peek(TOKENS, 'a', { cost: 0 })).remaining;
    const cheaper = await limits.reserve(TOKENS, 'a', { cost: 60 });
    expect(cheaper.allowed).toBe(true);
    expect((await limits.reserve(TOKENS, 'a', { cost: 60 })).allowed).toBe(false);
    await cheaper.settle(10);
    expect(await left()).toBe(90);

    const cancelled = await limits.reserve(TOKENS, 'a', { cost: 60 });
    await cancelled.cancel();
    await cancelled.settle(60);
    expect(await left()).toBe(90);

    const dearer = await limits.reserve(TOKENS, 'a', { cost: 60 });
    await dearer.settle(150);
    expect(await left()).toBe(0);
    time.advance(60_000); // 100 permits, 60 of which repay the debt.
    expect(await left()).toBe(40);
  });

  it('refund returns permits once and never more than were charged', async () => {
    const { limits } = await start();
    await limits.consume(TOKENS, 'a', { cost: 5 });
    const decision = await limits.consume(TOKENS, 'a', { cost: 30 });
    expect(await limits.refund(decision)).toBe(true);
    expect(await limits.refund(decision)).toBe(false);
    expect(await limits.peek(TOKENS, 'a', { cost: 0 })).toMatchObject({ remaining: 95 });
  });

  it('refund of a rule that does not apply to the client refunds nothing; a misspelled rule is an error', async () => {
    const { limits } = await start({
      calls: { window: '1m', limit: 10, skipIf: () => true },
      tokens: { window: '1m', limit: 10, algorithm: 'fixed-window' },
    });
    const decision = await limits.consume('tokens', 'a');
    expect(await limits.refund(decision, { rules: ['calls'] })).toBe(false);
    expect(await limits.refund(decision, { rules: ['calls', 'tokens'] })).toBe(true);
    await expect(limits.refund(decision, { rules: ['tokns'] })).rejects.toThrow('did you mean "tokens"?');
  });

  it("block and reset block a subject of a module's rule and end the block", async () => {
    const { limits, time } = await start({
      login: { window: '1m', limit: 5, algorithm: 'fixed-window', block: 'manual' },
    });
    const rule = 'login';
    await limits.block(rule, 'a', '1h');
    expect(await limits.consume('login', 'a')).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    expect(await limits.consume('login', 'b')).toMatchObject({ allowed: true });
    time.advance(3_599_999);
    expect(await limits.consume('login', 'a')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    time.advance(1);
    expect(await limits.consume('login', 'a')).toMatchObject({ allowed: true });

    await limits.block(rule, 'a', '1h');
    await limits.reset(rule, 'a');
    expect(await limits.consume('login', 'a')).toMatchObject({ allowed: true, remaining: 4 });
  });
});
