import { applyDecorators, Controller, Get, Injectable } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimit, RateLimitModule, SkipRateLimit, type RouteRule } from '../../lib/index.js';
import { ALLOWED, configMessage, FIELDS_OF } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

const LOG = { window: '1m', limit: 3, algorithm: 'sliding-window-log' } as const;

/** Returns the error of an application whose only handler has this rule, whatever its type. */
function refusalOf(rule: unknown): Promise<string> {
  @Controller()
  class Routes {
    @RateLimit(rule as RouteRule)
    @Get()
    get() {}
  }
  return refusalToStart({ imports: [RateLimitModule.forRoot({})], controllers: [Routes] });
}

afterEach(closeApps);

describe('a route whose rules need more keys than one call to Redis carries', () => {
  const appOf = (count: number, more: object = {}) => {
    const rules = Array.from({ length: count }, (_, nth) => ({ ...LOG, name: `rule-${nth}`, ...more }));
    @Controller()
    class Routes {
      @applyDecorators(...rules.map((rule) => RateLimit(rule)))
      @Get()
      get() {}
    }
    return { imports: [RateLimitModule.forRoot({})], controllers: [Routes] };
  };

  it.each([
    [101, {}, 101],
    [51, { block: '1m' }, 102],
    [26, { block: '1m', trial: { limit: 1 } }, 104],
  ])(
    'a route whose rules need too many keys stops the application: %i rules with %j',
    async (count, more, keys) => {
      expect(await refusalToStart(appOf(count, more))).toBe(
        configMessage(
          `Routes.get: got ${keys} keys (one for each rule and trial limit, another if it has \`block\`); allowed: at most 100, since rules that apply together are decided by one script`,
        ),
      );
    },
  );

  it('a route whose rules need 100 keys starts', async () => {
    const store = new MemoryStore();
    const app = await startApp(appOf(50, { block: '1m' }), { framework: 'express', store });
    expect((await app.get('/')).status).toBe(200);
  });
});

describe('a wrong decorator stops the app with one message that', () => {
  it.each([
    ['a negative limit', { limit: -1 }, `limit: got -1; allowed: ${ALLOWED.limit}`],
    ['half a permit', { limit: 0.5 }, `limit: got 0.5; allowed: ${ALLOWED.limit}`],
    ['no number', { limit: NaN }, `limit: got NaN; allowed: ${ALLOWED.limit}`],
    ['a limit beyond reason', { limit: 1e10 }, `limit: got 10000000000; allowed: ${ALLOWED.limit}`],
    ['an unknown algorithm', { algorithm: 'lucky' }, `algorithm: got "lucky"; allowed: ${ALLOWED.algorithm}`],
    [
      'a property of every object',
      { algorithm: 'toString' },
      `algorithm: got "toString"; allowed: ${ALLOWED.algorithm}`,
    ],
    ['an unknown unit', { window: '1x' }, `window: got "1x"; allowed: ${ALLOWED.window}`],
    [
      'a window without a unit',
      { window: 60 },
      `window: got 60: write "60s" or "60ms"; allowed: ${ALLOWED.window}`,
    ],
    [
      'a window without a unit as a text',
      { window: '60' },
      `window: got "60": write "60s" or "60ms"; allowed: ${ALLOWED.window}`,
    ],
    [
      'a block without a unit',
      { block: 5000 },
      `block: got 5000: write "5s" or "5000s"; allowed: ${ALLOWED.duration}; or "manual"`,
    ],
    ['a limit as a text that is no count', { limit: '1e3' }, `limit: got "1e3"; allowed: ${ALLOWED.limit}`],
    ['an empty limit', { limit: '' }, `limit: got ""; allowed: ${ALLOWED.limit}`],
    ['no window', { window: 0 }, `window: got 0; allowed: ${ALLOWED.window}`],
    ['a year and two days', { window: '368d' }, `window: got "368d"; allowed: ${ALLOWED.window}`],
    [
      'a header in its name',
      { name: 'a\r\nSet-Cookie: b' },
      `name: got "a\\r\\nSet-Cookie: b"; allowed: ${ALLOWED.name}`,
    ],
    ['an empty name', { name: '' }, `name: got ""; allowed: ${ALLOWED.name}`],
    [
      'a name of 65 characters',
      { name: 'a'.repeat(65) },
      `name: got "${'a'.repeat(65)}"; allowed: ${ALLOWED.name}`,
    ],
    ['a name beyond ASCII', { name: 'größe' }, `name: got "größe"; allowed: ${ALLOWED.name}`],
    [
      "another algorithm's option",
      { burst: 5 },
      `burst: no such option of sliding-window-log; token-bucket and gcra have it; allowed: ${FIELDS_OF['sliding-window-log']}`,
    ],
    ['a header that cannot be', { by: 'x api key' }, `by: got "x api key"; allowed: ${ALLOWED.by}`],
    [
      'a misspelled keyword in `by`',
      { by: 'usr' },
      `by: got "usr": did you mean "user", or { header: "usr" } for a header of that name?; allowed: ${ALLOWED.by}`,
    ],
    [
      'a keyword without its hyphen in `by`',
      { by: ['ip', 'apikey'] },
      `by: got ["ip","apikey"]: did you mean "api-key", or { header: "apikey" } for a header of that name?; allowed: ${ALLOWED.by}`,
    ],
    [
      'a header of all proxies as the address of the client',
      { by: { ip: 'X-Forwarded-For' } },
      `by: got {"ip":"X-Forwarded-For"}: write "ip", and name the trusted proxies in the framework: it reads this header, which a client can send too; allowed: ${ALLOWED.by}`,
    ],
    [
      'two sources of one part',
      { by: { ip: 'a-b', header: 'a' } },
      `by: got {"ip":"a-b","header":"a"}; allowed: ${ALLOWED.by}`,
    ],
    ['nobody to count', { by: [] }, `by: got []; allowed: ${ALLOWED.by}`],
    ['null for whom to count', { by: null }, `by: got null; allowed: ${ALLOWED.by}`],
    ['null among whom to count', { by: ['ip', null] }, `by: got ["ip",null]; allowed: ${ALLOWED.by}`],
    ['a number for whom to count', { by: 5 }, `by: got 5; allowed: ${ALLOWED.by}`],
    [
      'no function to skip by',
      { skipIf: true },
      'skipIf: got true; allowed: a function of the ExecutionContext',
    ],
    [
      'an IPv6 prefix too long',
      { ipv6Prefix: 129 },
      'ipv6Prefix: got 129; allowed: an integer from 1 to 128',
    ],
    [
      'a range too wide',
      { allowList: ['10.0.0.0/33'] },
      `allowList: got ["10.0.0.0/33"]; allowed: ${ALLOWED.allowList}`,
    ],
  ])(
    'a message names the handler of a wrong decorator, the value and the allowed values for %s',
    async (_title, field, problem) => {
      expect(await refusalOf({ ...LOG, ...field })).toBe(
        configMessage(`@RateLimit on Routes.get.${problem}`),
      );
    },
  );

  it('a message does not repeat a value of a megabyte', async () => {
    expect(await refusalOf({ ...LOG, window: '1'.repeat(1_000_000) })).toBe(
      configMessage(`@RateLimit on Routes.get.window: got "${'1'.repeat(79)}…; allowed: ${ALLOWED.window}`),
    );
  });

  it('a message names the fields that a rule lacks', async () => {
    expect(await refusalOf({})).toBe(
      configMessage(
        `rule "default" of Routes.get.limit: missing; allowed: ${ALLOWED.limit}`,
        `rule "default" of Routes.get.window: missing; allowed: ${ALLOWED.window}`,
      ),
    );
  });

  it("a message names a missing field of a module's rule once, although it is on every route", async () => {
    @Controller()
    class Routes {
      @Get('a') a() {}
      @Get('b') b() {}
    }
    const limits = RateLimitModule.forRoot({ rules: { a: { limit: 5 } } });
    expect(await refusalToStart({ imports: [limits], controllers: [Routes] })).toBe(
      configMessage(`rules.a.window: missing; allowed: ${ALLOWED.window}`),
    );
  });

  it('a message reports that a rule of the module cannot have a name field', async () => {
    const limits = RateLimitModule.forRoot({ rules: { login: { ...LOG, name: 'sign-in' } as never } });
    expect(await refusalToStart({ imports: [limits] })).toBe(
      configMessage('rules.login.name: got "sign-in"; allowed: nothing, since the key is the name'),
    );
  });

  it('a message names other errors beside an unknown algorithm', async () => {
    expect(await refusalOf({ algorithm: 'lucky', limit: -1, window: '1x', cost: -1 })).toBe(
      configMessage(
        `@RateLimit on Routes.get.algorithm: got "lucky"; allowed: ${ALLOWED.algorithm}`,
        `@RateLimit on Routes.get.limit: got -1; allowed: ${ALLOWED.limit}`,
        `@RateLimit on Routes.get.window: got "1x"; allowed: ${ALLOWED.window}`,
        `@RateLimit on Routes.get.cost: got -1; allowed: ${ALLOWED.limit}`,
      ),
    );
  });

  it('a message reports a cost that can never fit', async () => {
    expect(await refusalOf({ ...LOG, cost: 4 })).toBe(
      configMessage(
        'rule "default" of Routes.get.cost: got 4; allowed: at most 3, the maximum number of permits taken at once',
      ),
    );
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
  ])('a message names the handler whose decorator has %s as a rule', async (_title, rule) => {
    expect(await refusalOf(rule)).toBe(
      configMessage(
        `@RateLimit on Routes.get: got ${JSON.stringify(rule)}; allowed: an object with fields of a rule`,
      ),
    );
  });

  it('a message names every error of every rule', async () => {
    @RateLimit({ ...LOG, cost: -1 })
    @Controller()
    class Wrong {
      @RateLimit({ limit: -1, window: '1x' as '1s' })
      @Get('a')
      a() {}
      @RateLimit({ name: 'b', limit: 1, window: '1s', algorithm: 'lucky' as 'gcra' })
      @Get('b')
      b() {}
    }
    const limits = RateLimitModule.forRoot({
      rules: { total: { limit: -2, window: '1m' } },
      overrides: { totl: { limit: 5 } },
    });
    expect(await refusalToStart({ imports: [limits], controllers: [Wrong] })).toBe(
      configMessage(
        `rules.total.limit: got -2; allowed: ${ALLOWED.limit}`,
        `@RateLimit on Wrong.cost: got -1; allowed: ${ALLOWED.limit}`,
        `@RateLimit on Wrong.a.limit: got -1; allowed: ${ALLOWED.limit}`,
        `@RateLimit on Wrong.a.window: got "1x"; allowed: ${ALLOWED.window}`,
        `@RateLimit on Wrong.b.algorithm: got "lucky"; allowed: ${ALLOWED.algorithm}`,
        'overrides.totl.limit: no rule is named "totl": did you mean "total"?; allowed: "total", "default", "b"',
      ),
    );
  });

  it('a message names wrong rules on resolvers and gateways', async () => {
    @Injectable()
    class OrdersResolver {
      @RateLimit({ ...LOG, limit: -1 })
      orders() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], providers: [OrdersResolver] };
    expect(await refusalToStart(metadata)).toBe(
      configMessage(`@RateLimit on OrdersResolver.orders.limit: got -1; allowed: ${ALLOWED.limit}`),
    );
  });

  it('a message names an unknown rule in @SkipRateLimit', async () => {
    @Controller()
    class Health {
      @SkipRateLimit('lgoin')
      @Get()
      get() {}
    }
    const limits = RateLimitModule.forRoot({ rules: { login: LOG } });
    expect(await refusalToStart({ imports: [limits], controllers: [Health] })).toBe(
      configMessage(
        '@SkipRateLimit on Health.get: no rule is named "lgoin": did you mean "login"?; allowed: "login"',
      ),
    );
  });
});
