import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

const NONE = { window: '1m', limit: 0, algorithm: 'fixed-window' } as const;

const isInternal = (context: ExecutionContext): boolean =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-internal'] === 'yes';

afterEach(closeApps);

describe.each(FRAMEWORKS)('a rule with exceptions on %s', (framework) => {
  /** Starts an application whose only route denies every client that the rules do not exempt. */
  function start(...rules: RouteRule[]) {
    @Controller()
    class Closed {
      @Get() get() {}
    }
    for (const rule of rules) RateLimit(rule)(Closed);
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Closed] };
    return startApp(metadata, { framework, trustProxy: true });
  }

  it.each([
    ['at once', isInternal],
    ['as a promise', async (context: ExecutionContext) => isInternal(context)],
  ])('a rule does not apply and sends no headers when skipIf is true %s', async (_title, skipIf) => {
    const { get } = await start({ ...NONE, skipIf });
    const skipped = await get('/', { 'x-internal': 'yes' });
    expect([skipped.status, limitHeaders(skipped)]).toEqual([200, {}]);
    expect((await get('/')).status).toBe(429);
  });

  it('the other rules of a route still apply when one is skipped', async () => {
    const { get } = await start(
      { ...NONE, name: 'closed', skipIf: isInternal },
      { ...NONE, name: 'open', limit: 5 },
    );
    const answer = await get('/', { 'x-internal': 'yes' });
    expect(limitHeaders(answer)['ratelimit-policy']).toBe('"open";q=5;w=60');
    expect(JSON.parse((await get('/')).body)).toMatchObject({ 'violated-policies': ['closed'] });
  });

  it('the allowList exempts its addresses and ranges in every notation, and no other address', async () => {
    const { getFrom } = await start({ ...NONE, allowList: ['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'] });
    const statusFrom = async (ip: string) => (await getFrom(ip, '/')).status;
    const passing = [
      '203.0.113.7',
      '10.255.255.255',
      '::ffff:10.0.0.1',
      '::ffff:a00:1',
      '2001:db8::1',
      '2001:DB8:ffff::',
    ];
    for (const ip of passing) expect({ ip, status: await statusFrom(ip) }).toEqual({ ip, status: 200 });
    const others = ['203.0.113.8', '11.0.0.0', '2001:db9::1', '::10.0.0.1', '::1', 'a00:1::', 'nonsense'];
    for (const ip of others) expect({ ip, status: await statusFrom(ip) }).toEqual({ ip, status: 429 });
  });

  it('the functions of a rule are not called for an address in its allowList', async () => {
    const skipIf = jest.fn(() => false);
    const limit = jest.fn(() => 0);
    const { getFrom } = await start({ ...NONE, limit, skipIf, allowList: ['10.0.0.0/8'] });
    expect((await getFrom('10.1.2.3', '/')).status).toBe(200);
    expect(skipIf).not.toHaveBeenCalled();
    expect(limit).not.toHaveBeenCalled();
  });

  it('headers that a client sends do not exempt it from a rule', async () => {
    const { get } = await start({ ...NONE, allowList: ['10.0.0.0/8'] });
    const claims = { 'x-real-ip': '10.0.0.1', 'x-client-ip': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    expect((await get('/', claims)).status).toBe(429);
  });
});
