import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import {
  RateLimit,
  RateLimitHealth,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
  type RuleSource,
} from '../../lib/index.js';
import type { Store } from '../../lib/store.js';
import { startApp } from '../support/nest-app.js';

@Controller()
export class Pages {
  @Get('page')
  page() {}

  @RateLimit('login')
  @Post('login')
  @HttpCode(200)
  login() {}

  @RateLimit({ name: 'search', window: '1h', limit: 20, by: 'x-tenant' })
  @Get('search')
  search() {}
}

/** Starts an application with the rules `default`, `login` and `search`, and a source of live rules. */
export async function startLiveApp(
  source: RuleSource | undefined,
  options: RateLimitModuleOptions = {},
  store?: Store,
) {
  const limits = RateLimitModule.forRoot({
    rules: { default: { window: '1h', limit: 100, algorithm: 'gcra' } },
    onDemand: { login: { window: '1h', limit: 10, by: 'ip' } },
    overrides: { search: { limit: 30 } },
    liveRules: source,
    warnings: { RL_TRUST_PROXY_ALL: false },
    ...options,
  });
  const { app, ...rest } = await startApp(
    { imports: [limits], controllers: [Pages] },
    { framework: 'express', trustProxy: true, ...(store && { store }) },
  );
  const service = app.get(RateLimitService);
  const policyOf = async (path: string, headers = {}) =>
    (await rest.send({ method: path === '/login' ? 'POST' : 'GET', path, headers })).headers[
      'ratelimit-policy'
    ];
  const codes = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit.warnings;
  return { ...rest, app, limits: service, rules: service.rules, policyOf, codes };
}

export type LiveApp = Awaited<ReturnType<typeof startLiveApp>>;
