import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

@Controller()
class ReportsController {
  @RateLimit({ window: '1m', limit: 100, algorithm: 'fixed-window', cost: 29 })
  @Get('report')
  report() {}

  @RateLimit({ name: 'second', window: '1s', limit: 5, algorithm: 'fixed-window' })
  @RateLimit({ name: 'minute', window: '1m', limit: 10, algorithm: 'fixed-window' })
  @RateLimit({ name: 'hour', window: '1h', limit: 12, algorithm: 'fixed-window' })
  @Get('search')
  search() {}

  @RateLimit({ name: 'a "b" \\ c', window: '250ms', limit: 5, algorithm: 'fixed-window' })
  @Get('quick')
  quick() {}

  @RateLimit({ name: 'mine', window: '1m', limit: 10, algorithm: 'fixed-window', by: 'user' })
  @Get('mine')
  mine() {}

  @Get('free')
  free() {}
}

type Style = Exclude<RateLimitModuleOptions['headers'], undefined>;

/** 100 requests per 60 s, 42 left, 17 s to reset: the example of the standards. */
const ALLOWED = {
  'draft-10': { 'ratelimit-policy': '"default";q=100;w=60', ratelimit: '"default";r=42;t=17' },
  'draft-7': { 'ratelimit-policy': '100;w=60', ratelimit: 'limit=100, remaining=42, reset=17' },
  'draft-6': {
    'ratelimit-policy': '100;w=60',
    'ratelimit-limit': '100',
    'ratelimit-remaining': '42',
    'ratelimit-reset': '17',
  },
  legacy: {
    'x-ratelimit-limit': '100',
    'x-ratelimit-remaining': '42',
    'x-ratelimit-reset': '1700000100',
  },
};

/** The same with 13 permits left, and a request with a cost of 29, which is denied. */
const DENIED = {
  'draft-10': { 'ratelimit-policy': '"default";q=100;w=60', ratelimit: '"default";r=13;t=17' },
  'draft-7': { 'ratelimit-policy': '100;w=60', ratelimit: 'limit=100, remaining=13, reset=17' },
  'draft-6': {
    'ratelimit-policy': '100;w=60',
    'ratelimit-limit': '100',
    'ratelimit-remaining': '13',
    'ratelimit-reset': '17',
  },
  legacy: {
    'x-ratelimit-limit': '100',
    'x-ratelimit-remaining': '13',
    'x-ratelimit-reset': '1700000100',
  },
};

const STYLES: { headers: Style | undefined; allowed: object; denied: object }[] = [
  { headers: undefined, allowed: ALLOWED['draft-10'], denied: DENIED['draft-10'] },
  { headers: 'draft-10', allowed: ALLOWED['draft-10'], denied: DENIED['draft-10'] },
  { headers: 'draft-7', allowed: ALLOWED['draft-7'], denied: DENIED['draft-7'] },
  { headers: 'draft-6', allowed: ALLOWED['draft-6'], denied: DENIED['draft-6'] },
  { headers: 'legacy', allowed: ALLOWED.legacy, denied: DENIED.legacy },
  { headers: false, allowed: {}, denied: {} },
  { headers: [], allowed: {}, denied: {} },
  {
    headers: ['draft-10', 'legacy'],
    allowed: { ...ALLOWED['draft-10'], ...ALLOWED.legacy },
    denied: { ...DENIED['draft-10'], ...DENIED.legacy },
  },
  {
    headers: ['legacy', 'draft-6'],
    allowed: { ...ALLOWED['draft-6'], ...ALLOWED.legacy },
    denied: { ...DENIED['draft-6'], ...DENIED.legacy },
  },
];

afterEach(closeApps);
afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(SETUPS)('the headers on $framework with $kind', ({ framework, kind }) => {
  async function start(headers: Style | undefined) {
    const time = new VirtualTime();
    jest.spyOn(Date, 'now').mockImplementation(time.clock); // `legacy` contains an instant.
    const limits = RateLimitModule.forRoot({ headers, prefix: uniquePrefix() });
    const metadata = { imports: [limits], controllers: [ReportsController] };
    const { get, logs } = await startApp(metadata, { framework, store: virtualStore(kind, time) });
    return { time, logs, get: async (path: string) => limitHeaders(await get(path)) };
  }

  it.each(STYLES)('the headers have the format $headers', async ({ headers, allowed, denied }) => {
    const { time, get } = await start(headers);
    await get('/report');
    time.advance(43_000);
    expect(await get('/report')).toEqual(allowed);
    await get('/report');
    expect(await get('/report')).toEqual({ ...denied, 'retry-after': '17' });
  });

  it('the headers list every rule of a route, starting with the one with the fewest permits left', async () => {
    const { get } = await start('draft-10');
    for (let nth = 1; nth <= 4; nth++) await get('/search');
    expect(await get('/search')).toEqual({
      'ratelimit-policy': '"second";q=5;w=1, "minute";q=10;w=60, "hour";q=12;w=3600',
      ratelimit: '"second";r=0;t=1, "minute";r=5;t=30, "hour";r=7;t=2100',
    });
    expect(await get('/search')).toEqual({
      'ratelimit-policy': '"second";q=5;w=1, "minute";q=10;w=60, "hour";q=12;w=3600',
      ratelimit: '"second";r=0;t=1, "minute";r=5, "hour";r=7',
      'retry-after': '1',
    });
  });

  it('the headers and Retry-After start with the longest wait when several rules deny', async () => {
    const { time, get } = await start('draft-10');
    for (let nth = 1; nth <= 5; nth++) await get('/search');
    time.advance(1_000);
    for (let nth = 1; nth <= 5; nth++) await get('/search');
    expect(await get('/search')).toEqual({
      'ratelimit-policy': '"minute";q=10;w=60, "second";q=5;w=1, "hour";q=12;w=3600',
      ratelimit: '"minute";r=0;t=59, "second";r=0;t=1, "hour";r=2',
      'retry-after': '59',
    });
  });

  it('the experimental draft reports the cost of a request, and what a client knows of the subject', async () => {
    const { get } = await start('draft-12');
    expect(await get('/report')).toEqual({
      'ratelimit-policy': '"default";q=100;w=60',
      ratelimit: '"default";a=71;w=42;c=29',
    });
    expect(await get('/mine')).toEqual({
      'ratelimit-policy': '"mine";q=10;w=60',
      ratelimit: '"mine";a=9;w=54;c=1',
      'ratelimit-partition': '"mine";user_id',
    });
  });

  it('the log names the draft that the headers of the newest one follow', async () => {
    const { get, logs } = await start('draft');
    expect(await get('/report')).toEqual({
      'ratelimit-policy': '"default";q=100;w=60',
      ratelimit: '"default";r=71;t=42',
    });
    expect(logs.ours().map(({ message }) => message)).toContain(
      'The headers "draft" are those of draft-11, whose header fields have the form of "draft-10".',
    );
  });

  it('the headers report the strictest rule when the format has room for only one', async () => {
    const { time, get } = await start(['draft-7', 'legacy']);
    for (let nth = 1; nth <= 5; nth++) await get('/search');
    time.advance(1_000);
    expect(await get('/search')).toEqual({
      'ratelimit-policy': '10;w=60, 5;w=1, 12;w=3600',
      ratelimit: 'limit=10, remaining=4, reset=59',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': '1700000100',
    });
  });

  it('the headers quote names, and omit windows that the draft cannot express', async () => {
    const { get } = await start('draft-10');
    expect(await get('/quick')).toEqual({
      'ratelimit-policy': '"a \\"b\\" \\\\ c";q=5',
      ratelimit: '"a \\"b\\" \\\\ c";r=4;t=1',
    });
  });

  it('a route without rules has no RateLimit headers', async () => {
    const { get } = await start(['draft-10', 'legacy']);
    expect(await get('/free')).toEqual({});
  });
});
