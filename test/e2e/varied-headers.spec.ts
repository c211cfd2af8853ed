import {
  Controller,
  Get,
  type CanActivate,
  type ExecutionContext,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

afterEach(closeApps);

@Controller()
class Pages {
  @Get('page')
  page() {}
}

/** Verifies a session or a password before the rate limit guard runs. */
class Verified implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ headers: Record<string, string | undefined>; user?: object }>();
    const { cookie = '', authorization = '' } = request.headers;
    const isAnn =
      /(^|; )session=ann(;|$)/.test(cookie) ||
      Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString() === 'ann:secret';
    if (!isAnn) throw new UnauthorizedException();
    request.user = { id: 'ann' };
    return true;
  }
}

/** Values that a server reads as the same session or the same credentials. */
const VARIED = [
  ['cookie', (nth: number) => `session=ann; other=${nth}`],
  ['authorization', (nth: number) => `Basic ${btoa('ann:secret')}${'='.repeat(nth)}`],
] as const;

describe.each(FRAMEWORKS)('a client that is verified before the rate limit guard, on %s', (framework) => {
  const start = (by: string) => {
    const rules = { default: { window: '1h', limit: 3, by } } as RateLimitModuleOptions['rules'];
    const imports = [RateLimitModule.forRoot({ rules, warnings: { RL_HEADER_ALONE: false } })];
    const providers = [{ provide: APP_GUARD, useClass: Verified }];
    return startApp({ providers, imports, controllers: [Pages] }, { framework });
  };

  it.each(VARIED)(
    'varies its `%s` and gets 30 of 30 requests, but 3 counted by user',
    async (name, value) => {
      const allowed: number[] = [];
      for (const by of [name, 'user']) {
        const { get, close } = await start(by);
        const statuses: number[] = [];
        for (let nth = 0; nth < 30; nth += 1)
          statuses.push((await get('/page', { [name]: value(nth) })).status);
        allowed.push(statuses.filter((status) => status === 200).length);
        await close();
      }
      expect(allowed).toEqual([30, 3]);
    },
  );
});
