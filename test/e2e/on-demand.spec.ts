import { Controller, Get, Post } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
  type RouteRule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';

const FIXED = { window: '1m', limit: 2, algorithm: 'fixed-window' } as const;
const LOGIN = { ...FIXED, by: 'ip' } as const;

@Controller()
class Routes {
  @RateLimit('login')
  @Get('login')
  login() {}

  @RateLimit('login', { limit: 1 })
  @Get('admin')
  admin() {}

  @RateLimit('login', { scope: 'route', window: '1h' })
  @Get('own')
  own() {}

  @Get('free')
  free() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('rules on demand, on %s', (framework) => {
  const start = async (options: RateLimitModuleOptions = {}, controller: new () => object = Routes) => {
    const onDemand = { login: LOGIN, mail: { ...FIXED, limit: 1 } };
    const imports = [RateLimitModule.forRoot({ prefix: uniquePrefix(), onDemand, ...options })];
    const app = await startApp({ imports, controllers: [controller] }, { framework });
    const statuses = async (...paths: string[]) => {
      const all = [];
      for (const path of paths) all.push((await app.get(path)).status);
      return all;
    };
    return { ...app, statuses, limits: app.app.get(RateLimitService) };
  };

  it('a rule on demand does not limit a route that does not name it', async () => {
    const { get, limits } = await start();
    expect((await limits.consume('mail', 'tenant')).allowed).toBe(true);
    expect((await limits.consume('mail', 'tenant')).allowed).toBe(false);
    const answer = await get('/free');
    expect([answer.status, limitHeaders(answer)]).toEqual([200, {}]);
  });

  it('all routes and programs that name a rule on demand share its counter', async () => {
    const { statuses, limits } = await start();
    expect(await statuses('/login')).toEqual([200]);
    expect(await limits.consume('login', '127.0.0.1')).toMatchObject({ allowed: true, remaining: 0 });
    expect(await statuses('/login')).toEqual([429]);
  });

  it('a target can override the limit of a rule on demand and keep the shared counter', async () => {
    const { statuses } = await start();
    expect(await statuses('/admin', '/admin', '/login', '/login')).toEqual([200, 429, 200, 429]);
  });

  it("a rule on demand with scope: 'route' has its own counter and can change every field", async () => {
    const { get, statuses } = await start();
    expect(limitHeaders(await get('/own'))['ratelimit-policy']).toBe('"login";q=2;w=3600');
    expect(await statuses('/own', '/own', '/login')).toEqual([200, 429, 200]);
  });

  it('overrides apply to rules on demand for routes and programs', async () => {
    const { statuses, limits } = await start({ overrides: { login: { limit: 1 }, mail: { limit: 3 } } });
    expect(await statuses('/login', '/login')).toEqual([200, 429]);
    expect(await limits.consume('mail', 'tenant')).toMatchObject({ limit: 3 });
  });

  it('@SkipRateLimit removes a rule on demand from a method of a controller', async () => {
    @RateLimit('login', { limit: 1 })
    @Controller()
    class Skipping {
      @Get() get() {}

      @SkipRateLimit('login')
      @Post()
      post() {}
    }
    const { send, statuses } = await start({}, Skipping);
    expect(await statuses('/', '/')).toEqual([200, 429]);
    expect((await send({ method: 'POST', path: '/' })).status).toBe(201);
  });

  it('a rule on demand applies together with the rules of every route', async () => {
    const { get } = await start({ rules: { total: { ...FIXED, limit: 9 } } });
    expect(limitHeaders(await get('/login'))['ratelimit-policy']).toBe('"login";q=2;w=60, "total";q=9;w=60');
  });
});

describe('a rule on demand that is wrong stops the app with a message that', () => {
  const ON_ROUTE = "limit, cost, count, settle, onError, skipIf, maxWait, or any field with scope: 'route'";
  const refusal = (options: RateLimitModuleOptions, rule: 'login' | RouteRule, fields?: NamedRule) => {
    @Controller()
    class Wrong {
      @RateLimit(rule as 'login', fields)
      @Get()
      get() {}
    }
    const imports = [RateLimitModule.forRoot({ onDemand: { login: LOGIN }, ...options })];
    return refusalToStart({ imports, controllers: [Wrong] });
  };

  it('a missing rule stops the application with a message that names it', async () => {
    expect(await refusal({}, 'lgoin' as 'login')).toBe(
      configMessage(
        '@RateLimit on Wrong.get: no rule is named "lgoin" in `rules` or `onDemand`: did you mean "login"?; allowed: "login"',
      ),
    );
  });

  it.each([
    ['window', '5m', '"5m" here and "1m"'],
    ['algorithm', 'gcra', '"gcra" here and "fixed-window"'],
    ['by', 'user', '"user" here and "ip"'],
    ['block', '1m', '"1m" here and not set'],
  ] as const)(
    'an override of %s of a shared rule stops the application, in both forms of the decorator',
    async (field, value, differs) => {
      const message = configMessage(
        `rule "login" of Wrong.get: ${field} is ${differs} in the module, but a shared rule has one counter; allowed to differ: ${ON_ROUTE}`,
      );
      expect(await refusal({}, 'login', { [field]: value })).toBe(message);
      expect(await refusal({}, { name: 'login', [field]: value })).toBe(message);
    },
  );

  it('a name in both rules and onDemand stops the application', async () => {
    expect(await refusal({ rules: { login: LOGIN } }, 'login')).toBe(
      configMessage('onDemand.login: also in `rules`; allowed: a name in one of them'),
    );
  });

  it('an invalid or missing field stops the application although no route names the rule', async () => {
    expect(await refusal({ onDemand: { login: LOGIN, mail: { limit: -1 } } }, 'login')).toBe(
      configMessage(
        `onDemand.mail.limit: got -1; allowed: ${ALLOWED.limit}`,
        `onDemand.mail.window: missing; allowed: ${ALLOWED.window}`,
      ),
    );
  });

  it.each(['rules', 'onDemand'])(
    'a name in %s that reads as a duration stops the application',
    async (option) => {
      expect(await refusal({ [option]: { '1m': LOGIN } }, { ...LOGIN })).toBe(
        configMessage(`${option}.1m.name: got "1m"; allowed: ${ALLOWED.name}`),
      );
    },
  );
});
