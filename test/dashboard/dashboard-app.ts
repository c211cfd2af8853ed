import {
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Post,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { RateLimitDashboardModule, type RateLimitDashboardOptions } from '../../lib/dashboard.js';
import type { RateLimitDashboardExtras } from '../../lib/dashboard/dashboard.options.js';
import type { Snapshot } from '../../lib/dashboard/snapshot.js';
import { startApp, type AppSetup, type Framework, type TestApp } from '../support/nest-app.js';
import type { Answer } from '../support/http-client.js';

@Controller()
export class Pages {
  @Get('page')
  page() {}

  @RateLimit('login')
  @Post('login')
  @HttpCode(200)
  login() {}
}

/** Allows requests with the header `x-admin: yes`. */
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['x-admin'] !== 'yes') throw new ForbiddenException();
    return true;
  }
}

export interface DashboardSetup {
  readonly framework?: Framework;
  readonly controllers?: readonly Type[];
  readonly limits?: RateLimitModuleOptions;
  readonly dashboard?: RateLimitDashboardOptions & RateLimitDashboardExtras;
}

/** The headers that the page sends with a change. */
export const FROM_PAGE = { 'x-rate-limit-dashboard': '1', 'content-type': 'application/json' };

/** Starts an application with the rules `default` and `login`, and the operations page. */
export async function startDashboard(
  { framework = 'express', controllers = [], limits, dashboard }: DashboardSetup = {},
  configure: NonNullable<AppSetup['configure']> = () => undefined,
) {
  const app = await startApp(
    {
      imports: [
        RateLimitModule.forRoot({
          rules: { default: { window: '1h', limit: 100, algorithm: 'gcra' } },
          onDemand: { login: { window: '1h', limit: 3, by: 'ip' } },
          warnings: { RL_TRUST_PROXY_ALL: false, RL_DASHBOARD_OPEN: false },
          ...limits,
        }),
        RateLimitDashboardModule.forRoot(dashboard),
      ],
      controllers: [Pages, ...controllers],
    },
    { framework, trustProxy: true, configure },
  );
  const ask = (path: string, headers = {}): Promise<Answer> => app.get(`/rate-limits/${path}`, headers);
  return {
    ...app,
    ask,
    /** Sends what the page sends for a change. */
    change: (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
      app.send({
        method: 'POST',
        path: `/rate-limits/${path}`,
        headers: { ...FROM_PAGE, ...headers },
        body: JSON.stringify(body),
      }),
    login: (ip: string): Promise<Answer> =>
      app.send({ method: 'POST', path: '/login', headers: { 'x-forwarded-for': ip } }),
    /** Returns the subjects of a rule that are denied most, unmasked. */
    subjects: async (rule: string): Promise<readonly string[]> => {
      const { rules } = JSON.parse((await ask('snapshot')).body) as Snapshot;
      const subjects = rules.find((each) => each.rule === rule)!.top.map(({ id }) => ({ rule, id }));
      return unmasked(app, subjects);
    },
    snapshot: async (): Promise<Snapshot> => JSON.parse((await ask('snapshot')).body) as Snapshot,
    rule: async (name: string): Promise<Snapshot['rules'][number]> => {
      const { rules } = JSON.parse((await ask('snapshot')).body) as Snapshot;
      return rules.find(({ rule }) => rule === name)!;
    },
  };
}

/** Returns subjects unmasked, as a page of an application whose `unmaskGuards` allow it. */
export async function unmasked(
  { send }: Pick<TestApp, 'send'>,
  subjects: readonly object[],
): Promise<readonly string[]> {
  const body = JSON.stringify({ subjects });
  const answer = await send({ method: 'POST', path: '/rate-limits/unmask', headers: FROM_PAGE, body });
  return (JSON.parse(answer.body) as { subjects: string[] }).subjects;
}

/** Allows every request. */
export const EVERY_USER = { canActivate: () => true };

export type DashboardApp = Awaited<ReturnType<typeof startDashboard>>;
