import { Controller, Get, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { startApp, type AppSetup, type TestApp } from './nest-app.js';
import { uniquePrefix } from './redis/shared-redis.js';

export type Headers = Readonly<Record<string, string>>;

/** Replaces the application's authentication: accepts any JSON in `x-user`. */
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
  /** Returns the statuses of requests that these clients send in sequence. */
  knock(...clients: Headers[]): Promise<number[]>;
}

/** Starts an application whose only route, `/`, allows each subject of a rule one request. */
export async function startDoor(rule: RouteRule, setup: AppSetup): Promise<Door> {
  @Controller()
  class DoorController {
    @RateLimit({ window: '1m', limit: 1, algorithm: 'fixed-window', ...rule } as RouteRule)
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

/** Returns the headers of a client at an IP address, for an application that trusts proxies. */
export function clientAt(ip: string, more: Headers = {}): Headers {
  return { 'x-forwarded-for': ip, ...more };
}

/** Returns the headers of a client that the application accepts as this user. */
export function userAs(user: unknown): Headers {
  return clientAt('10.0.0.1', { 'x-user': JSON.stringify(user) });
}

/** Returns the value of a client's header, as a resolver reads it. */
export function said(context: ExecutionContext, header: string): string | undefined {
  return context.switchToHttp().getRequest<{ headers: Headers }>().headers[header];
}
