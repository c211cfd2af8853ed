import {
  Catch,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Redirect,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimitModule, RateLimitService, type CountResult } from '../../lib/index.js';
import type { CountWhen, NamedRule } from '../../lib/nest/rules/route-rule.js';
import { Gate } from '../support/gate.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { onClosed } from '../support/on-closed.js';
import { askAndWait } from '../support/raw-client.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const LOGIN = { window: '1m', limit: 3, algorithm: 'fixed-window', scope: 'shared' } as const;
const CLIENT = '127.0.0.1';

let gate: Gate;
/** Passwords that the handler has compared. */
let attempts: number;
let hasClosed: boolean;

class WrongPassword extends Error {}

@Injectable()
class LockedAccountGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Catch(WrongPassword)
@Injectable()
class WrongPasswordFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(_exception: WrongPassword, host: ArgumentsHost): void {
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), { message: 'no' }, 401);
  }
}

/** Records the end of a response. */
@Injectable()
class ClosingGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    onClosed(context, () => (hasClosed = true));
    return true;
  }
}

@Controller()
class LoginController {
  @Get('right')
  right() {}

  @Redirect('/home')
  @Get('right-and-on')
  rightAndOn() {}

  @Get('wrong')
  wrong() {
    attempts += 1;
    throw new UnauthorizedException();
  }

  @HttpCode(401)
  @Get('wrong-in-words')
  wrongInWords() {
    return 'no';
  }

  @UseFilters(WrongPasswordFilter)
  @Get('wrong-by-filter')
  wrongByFilter() {
    throw new WrongPassword();
  }

  @UseGuards(LockedAccountGuard)
  @Get('locked')
  locked() {}

  @Get('account/:id')
  account(@Param('id', ParseIntPipe) _id: number) {}

  @Get('broken')
  broken() {
    throw new Error('no database');
  }

  @UseGuards(ClosingGuard)
  @Get('slow')
  slow() {
    return gate.pass();
  }
}

beforeEach(() => {
  gate = new Gate();
  attempts = 0;
  hasClosed = false;
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

describe.each(SETUPS)('requests that count, on $framework with $kind', ({ framework, kind }) => {
  async function start(count: CountWhen, more: Record<string, NamedRule> = {}) {
    const rules = { login: { ...LOGIN, count }, ...more };
    const store = virtualStore(kind, new VirtualTime());
    const amend = jest.spyOn(store, 'adjust');
    const metadata = {
      imports: [RateLimitModule.forRoot({ rules, prefix: uniquePrefix() })],
      controllers: [LoginController],
    };
    const app = await startApp(metadata, { framework, store });
    const service = app.app.get(RateLimitService);

    const left = async (rule = 'login') => (await service.peek(rule, CLIENT, { cost: 0 })).remaining;
    return {
      ...app,
      left,
      untilLeft: (count: number, rule?: string) =>
        until(async () => (await left(rule)) === count, `${count} permits to be left`),
      /** Returns how often a charge was refunded. */
      refunds: () => amend.mock.calls.length,
      statuses: async (...paths: string[]) => {
        const statuses: number[] = [];
        for (const path of paths) statuses.push((await app.get(path)).status);
        return statuses;
      },
    };
  }

  it.each([
    ['the handler refuses', '/wrong', 401],
    ['the handler answers so without an exception', '/wrong-in-words', 401],
    ['an exception filter makes a 401 of what it threw', '/wrong-by-filter', 401],
    ['a later guard refuses', '/locked', 403],
    ['a pipe refuses what it gets', '/account/me', 400],
    ['the handler breaks', '/broken', 500],
  ])("count: 'failures' counts an attempt when %s", async (_title, path, status) => {
    const { statuses, left, refunds } = await start('failures');
    expect(await statuses(path, path, path, path)).toEqual([status, status, status, 429]);
    expect(await left()).toBe(0);
    expect(refunds()).toBe(0);
  });

  it.each([
    ['a success', '/right', 200],
    ['a redirect', '/right-and-on', 302],
  ])("count: 'failures' does not count %s", async (_title, path, status) => {
    const { statuses, untilLeft, refunds } = await start('failures');
    for (let nth = 1; nth <= 5; nth++) {
      expect(await statuses(path)).toEqual([status]);
      await untilLeft(3);
    }
    expect(refunds()).toBe(5);
  });

  it("count: 'successes' counts successful requests and no failed ones", async () => {
    const { statuses, left, untilLeft } = await start('successes');
    for (let nth = 1; nth <= 5; nth++) {
      expect(await statuses('/wrong')).toEqual([401]);
      await untilLeft(3);
    }
    expect(await statuses('/right', '/right', '/right', '/right')).toEqual([200, 200, 200, 429]);
    expect(await left()).toBe(0);
  });

  it('a request is counted before the handler and refunded only after the response', async () => {
    const { get, left, untilLeft } = await start('failures');
    const answer = get('/slow');
    await until(() => gate.inside === 1, 'the handler to run');
    expect(await left()).toBe(2);
    gate.open();
    expect((await answer).headers['ratelimit']).toBe('"login";r=2;t=40');
    await untilLeft(3);
  });

  it('concurrent attempts never fail more often than the limit permits', async () => {
    const { get } = await start('failures');
    const answers = await Promise.all(Array.from({ length: 20 }, () => get('/wrong')));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array<number>(3).fill(401), ...Array<number>(17).fill(429)]);
    expect(attempts).toBe(3);
  });

  it("count: 'failures' counts an attempt whose client disconnects before the response", async () => {
    const { port, left, refunds } = await start('failures');
    const client = await askAndWait(port, '/slow');
    await until(() => gate.inside === 1, 'the handler to run');
    client.hangUp();
    await until(() => hasClosed, 'the server to see that the client is gone');
    gate.open();
    expect(await left()).toBe(2);
    expect(refunds()).toBe(0);
  });

  it.each([
    ['at once', (isCharged: boolean) => isCharged],
    ['as a promise', async (isCharged: boolean) => isCharged],
  ])('a function in count decides which requests count %s', async (_title, answer) => {
    const results: object[] = [];
    const count = ({ statusCode, context }: CountResult) => {
      const { url } = context.switchToHttp().getRequest<{ url: string }>();
      results.push({ statusCode, url, handler: context.getHandler() });
      return answer(statusCode === 401);
    };
    const { statuses, untilLeft } = await start(count);
    expect(await statuses('/wrong', '/wrong', '/broken')).toEqual([401, 401, 500]);
    await untilLeft(1);
    expect(await statuses('/wrong', '/wrong')).toEqual([401, 429]);
    const { wrong, broken } = LoginController.prototype;
    expect(results).toEqual([
      { statusCode: 401, url: '/wrong', handler: wrong },
      { statusCode: 401, url: '/wrong', handler: wrong },
      { statusCode: 500, url: '/broken', handler: broken },
      { statusCode: 401, url: '/wrong', handler: wrong },
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no audit log');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('no audit log');
      },
    ],
  ])('every request counts and the log reports it while the function in count %s', async (_title, count) => {
    const { statuses, left, logs } = await start(count);
    expect(await statuses('/right', '/right', '/right', '/right')).toEqual([200, 200, 200, 429]);
    await until(() => logs.ours().length >= 3, 'three lines in the log');
    expect(await left()).toBe(0);
    const line = { level: 'error', message: 'The `count` function of a rule failed, so its charge stays.' };
    expect(logs.ours()).toEqual([line, line, line]);
  });

  it('each rule of a route decides separately which requests count', async () => {
    const { statuses, left, untilLeft } = await start('failures', {
      total: { ...LOGIN, limit: 9 },
      orders: { ...LOGIN, limit: 5, count: 'successes' },
    });
    expect(await statuses('/right', '/wrong', '/right')).toEqual([200, 401, 200]);
    await untilLeft(2);
    await untilLeft(3, 'orders');
    expect(await left('total')).toBe(6);
  });

  it('an error in the count function of one rule does not affect the other rules of the route', async () => {
    const thrower = () => {
      throw new Error('no audit log');
    };
    const { statuses, left, untilLeft } = await start('failures', {
      audited: { ...LOGIN, limit: 5, count: thrower },
    });
    expect(await statuses('/right')).toEqual([200]);
    await untilLeft(3);
    expect(await left('audited')).toBe(4);
  });
});
