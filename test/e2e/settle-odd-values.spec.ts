import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const CLIENT = '127.0.0.1';
const LIMIT = 1000;
const ESTIMATE = 100;

const tokens = {
  window: '1h',
  limit: LIMIT,
  algorithm: 'fixed-window',
  cost: ESTIMATE,
  settle: (text: string, _context: unknown, total: number) => total + text.length,
} as const;

/** Returns an iterable that yields all texts to each reader. */
const texts = () => ({
  async *[Symbol.asyncIterator]() {
    yield 'one';
    yield 'three';
  },
});

const feed = texts();

@Controller()
class Texts {
  @RateLimit('tokens')
  @Get('frozen')
  frozen() {
    return Object.freeze(texts());
  }

  @RateLimit('tokens')
  @Get('feed')
  feed() {
    return feed;
  }

  @RateLimit('tokens', { settle: () => 1 / 0 })
  @Get('infinite')
  infinite() {
    return 'one';
  }

  @RateLimit({ ...tokens, name: '__proto__' })
  @Get('proto')
  proto() {
    return 'one';
  }
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('a rule that settles by odd values, on %s', (framework) => {
  async function start() {
    const imports = [RateLimitModule.forRoot({ onDemand: { tokens } })];
    const { app, get, logs } = await startApp({ imports, controllers: [Texts] }, { framework });
    const limits = app.get(RateLimitService);
    const taken = async () => LIMIT - (await limits.peek('tokens', CLIENT, { cost: 0 })).remaining;
    const warnings = () => logs.ours().filter(({ level }) => level !== 'log');
    return { get, limits, taken, warnings };
  }

  it('does not fail the response of an iterable that cannot be changed, and reports that its cost is unknown', async () => {
    const { get, taken, warnings } = await start();
    expect(await get('/frozen')).toMatchObject({ status: 200, body: 'onethree' });
    await until(() => warnings().length > 0, 'the warning');
    expect(warnings()).toEqual([
      { level: 'warn', message: expect.stringMatching(/settle: got NaN; .*\(RL_INVALID_VALUE/) },
    ]);
    expect(await taken()).toBe(ESTIMATE);
  });

  it('charges each request for an iterable that many return, and leaves it unchanged', async () => {
    const { get, taken } = await start();
    const { value } = Object.getOwnPropertyDescriptor(feed, Symbol.asyncIterator)!;
    for (let nth = 1; nth <= 3; nth += 1) {
      expect((await get('/feed')).body).toBe('onethree');
      await until(async () => (await taken()) === 8 * nth, `the cost of ${nth} requests`);
      expect(Object.getOwnPropertyDescriptor(feed, Symbol.asyncIterator)!.value).toBe(value);
    }
  });

  it('keeps the estimate if a division by zero returns an infinite cost', async () => {
    const { get, taken, warnings } = await start();
    expect((await get('/infinite')).status).toBe(200);
    await until(() => warnings().length > 0, 'the warning');
    expect(warnings()[0]!.message).toContain('settle: got Infinity');
    expect(await taken()).toBe(ESTIMATE);
  });

  it('settles a rule named like a property of Object.prototype', async () => {
    const { get, limits } = await start();
    await get('/proto');
    const rule = { route: [Texts, 'proto'], rule: '__proto__' } as const;
    const remaining = async () => (await limits.peek(rule, CLIENT, { cost: 0 })).remaining;
    await until(async () => (await remaining()) === LIMIT - 3, 'the cost');
  });
});
