import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const LOGIN = { name: 'login', window: '10s', limit: 2, algorithm: 'fixed-window', block: '5m' } as const;

@Controller()
class Routes {
  @RateLimit(LOGIN)
  @Get('login')
  login() {}

  @RateLimit({ ...LOGIN, name: 'second', window: '1s', limit: 1, block: 'manual' })
  @RateLimit({ ...LOGIN, limit: 9 })
  @Get('both')
  both() {}

  @RateLimit({ ...LOGIN, cost: () => 3 })
  @Get('never')
  never() {}

  @RateLimit({ ...LOGIN, block: '1s' })
  @Get('short')
  short() {}
}

afterEach(closeApps);

describe.each(SETUPS)('a block after a denial, on $framework with $kind', ({ framework, kind }) => {
  async function start() {
    const time = new VirtualTime();
    const { get, getFrom } = await startApp(
      { imports: [RateLimitModule.forRoot({ prefix: uniquePrefix() })], controllers: [Routes] },
      { framework, store: virtualStore(kind, time), trustProxy: true },
    );
    const startedAt = time.now;
    return {
      get,
      getFrom,
      /** Returns the response at an instant, in milliseconds from the start. */
      async at(now: number, path: string) {
        time.now = startedAt + now;
        const { status, headers, body } = await get(path);
        const retryAfterMs = status === 429 ? (JSON.parse(body) as { retryAfterMs: number }).retryAfterMs : 0;
        return [status, headers['retry-after'], retryAfterMs];
      },
    };
  }

  it('a block lasts as long as the rule states, and requests during it do not extend it', async () => {
    const { at } = await start();
    expect(await at(0, '/login')).toEqual([200, undefined, 0]);
    expect(await at(0, '/login')).toEqual([200, undefined, 0]);
    expect(await at(2_500, '/login')).toEqual([429, '300', 300_000]);
    expect(await at(2_501, '/login')).toEqual([429, '300', 299_999]);
    expect(await at(62_500, '/login')).toEqual([429, '240', 240_000]);
    expect(await at(302_499, '/login')).toEqual([429, '1', 1]);
    expect(await at(302_500, '/login')).toEqual([200, undefined, 0]);
    expect(await at(302_500, '/login')).toEqual([200, undefined, 0]);
    expect(await at(302_501, '/login')).toEqual([429, '300', 300_000]);
  });

  it('headers and body of a blocked request report when the block ends', async () => {
    const { get } = await start();
    for (let nth = 1; nth <= 2; nth++) await get('/login');
    const refused = await get('/login');
    expect(limitHeaders(refused)).toEqual({
      'ratelimit-policy': '"login";q=2;w=10',
      ratelimit: '"login";r=0;t=300',
      'retry-after': '300',
    });
    expect(JSON.parse(refused.body)).toMatchObject({
      detail: 'Rule "login" allows 2 per 10 s; try again in 5 m.',
      retryAfterMs: 300_000,
    });
  });

  it('a block shorter than the wait ends before it, and the wait continues', async () => {
    const { at } = await start();
    for (let nth = 1; nth <= 2; nth++) await at(0, '/short');
    expect(await at(0, '/short')).toEqual([429, '10', 10_000]);
    expect(await at(9_999, '/short')).toEqual([429, '1', 1_000]);
    expect(await at(10_000, '/short')).toEqual([429, '1', 999]);
    expect(await at(10_999, '/short')).toEqual([200, undefined, 0]);
  });

  it('a block affects no other client and no other route', async () => {
    const { getFrom } = await start();
    const statuses = async (ip: string, path: string) => {
      const found: number[] = [];
      for (let nth = 1; nth <= 3; nth++) found.push((await getFrom(ip, path)).status);
      return found;
    };
    expect(await statuses('10.0.0.1', '/login')).toEqual([200, 200, 429]);
    expect(await statuses('10.0.0.2', '/login')).toEqual([200, 200, 429]);
    expect(await statuses('10.0.0.1', '/short')).toEqual([200, 200, 429]);
  });

  it('a denial by another rule of the route starts no block', async () => {
    const { at } = await start();
    expect(await at(0, '/both')).toEqual([200, undefined, 0]);
    expect(await at(0, '/both')).toEqual([429, '1', 1_000]);
    expect(await at(1_000, '/both')).toEqual([200, undefined, 0]);
  });

  it('a denial without an end starts no block and reports no wait', async () => {
    const { at } = await start();
    expect(await at(0, '/never')).toEqual([429, undefined, null]);
  });
});
