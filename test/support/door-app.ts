import { Controller, Get, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { startApp, type AppSetup, type TestApp } from './nest-app.js';
import { uniquePrefix } from './redis/shared-redis.js';

export type Headers = Readonly<Record<string, string>>;

/** Stands for the application's authentication: believes whatever JSON `x-user` says. */
@Injectable()
class BelievingGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Headers; user?: unknown }>();
    const { 'x-user': user } = request.headers;
    if (user !== undefined) request.user = JSON.parse(user);
    return true;
  }
}

export interface Door extends TestApp {
  /** The statuses that these clients get one after another. */
  knock(...clients: Headers[]): Promise<number[]>;
}

/** An app whose only route, `/`, lets each subject of a rule in once. */
export async function startDoor(rule: RouteRule, setup: AppSetup): Promise<Door> {
  @Controller()
  class DoorController {
    @RateLimit({ window: '1m', limit: 1, algorithm: 'fixed-window', ...rule })
    @Get()
    knock() {}
  }
  const app = await startApp(
    {
      imports: [RateLimitModule.forRoot({ prefix: uniquePrefix() })],
      controllers: [DoorController],
      providers: [{ provide: APP_GUARD, useClass: BelievingGuard }],
    },
    setup,
  );
  async function knock(...clients: Headers[]): Promise<number[]> {
    const statuses: number[] = [];
    for (const client of clients) statuses.push((await app.get('/', client)).status);
    return statuses;
  }
  return { ...app, knock };
}

/** The headers of a client at an IP address, for an app that trusts proxies. */
export function clientAt(ip: string, more: Headers = {}): Headers {
  return { 'x-forwarded-for': ip, ...more };
}

/** The headers of a client whom the application will take for this user. */
export function userAs(user: unknown): Headers {
  return clientAt('10.0.0.1', { 'x-user': JSON.stringify(user) });
}

/** What a client says in a header, as a resolver reads it. */
export function said(context: ExecutionContext, header: string): string | undefined {
  return context.switchToHttp().getRequest<{ headers: Headers }>().headers[header];
}
