import {
  Controller,
  Get,
  HttpCode,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { RateLimitDashboardModule, type RateLimitDashboardOptions } from '../../lib/dashboard.js';
import type { RateLimitDashboardExtras } from '../../lib/dashboard/dashboard.options.js';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { startApp, type Framework } from '../support/nest-app.js';
import { redisUrl } from '../support/redis/shared-redis.js';

/** The header of requests that the guard of the page allows. */
export const PASS = { 'x-operator': 'yes' };

/** A rule name with HTML: names are printable ASCII. */
export const HOSTILE_RULE = '<img src=x onerror=alert(1)>"\'</td><script>alert(2)</script>';

@Injectable()
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return (
      context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>().headers['x-operator'] ===
      'yes'
    );
  }
}

@Injectable()
class PrivacyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>();
    return headers['x-privacy'] !== 'no';
  }
}

/** The subject that a client states, which HTTP transports as ASCII. */
function stated(context: ExecutionContext): string {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  return decodeURIComponent(headers['x-client'] ?? 'nobody');
}

@Controller()
class Routes {
  @RateLimit({ name: 'login', window: '1h', limit: 3, algorithm: 'gcra', by: 'ip' })
  @Get('login')
  @HttpCode(200)
  login() {}

  @RateLimit({ name: HOSTILE_RULE, window: '1h', limit: 1, algorithm: 'gcra', by: stated })
  @Get('hostile')
  hostile() {}

  @RateLimit({ name: 'export', algorithm: 'concurrency', limit: 2, maxWait: '1s' })
  @Get('export')
  export() {}

  @RateLimit({ name: 'export', algorithm: 'concurrency', limit: 1, maxWait: '1s' })
  @Get('export/all')
  exportAll() {}
}

/** Starts one of the applications on the same Redis keys, with the operations page at `/rate-limits`. */
export async function startDashboardApp(
  prefix: string,
  options: RateLimitDashboardOptions & RateLimitDashboardExtras = {},
  framework: Framework = 'express',
  more: RateLimitModuleOptions = {},
) {
  const limits = RateLimitModule.forRoot({
    redis: redisUrl(),
    prefix,
    timeout: 5000,
    liveRules: new RedisRuleSource({ redis: redisUrl(), key: `${prefix}rules` }),
    warnings: { RL_TRUST_PROXY_ALL: false },
    ...more,
  });
  const dashboard = RateLimitDashboardModule.forRoot({
    guards: [OperatorGuard],
    unmaskGuards: [PrivacyGuard],
    ...options,
  });
  const app = await startApp(
    { imports: [limits, dashboard], controllers: [Routes] },
    { framework, trustProxy: true },
  );
  return { ...app, url: `http://127.0.0.1:${app.port}/rate-limits` };
}

export type DashboardApp = Awaited<ReturnType<typeof startDashboardApp>>;
