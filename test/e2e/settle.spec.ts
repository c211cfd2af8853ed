import {
  BadGatewayException,
  Controller,
  Get,
  HttpCode,
  Param,
  ParseIntPipe,
  Req,
  UseInterceptors,
  type CallHandler,
  type NestInterceptor,
} from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { catchError, map, of, retry, timeout, from, type Observable } from 'rxjs';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { Gate } from '../support/gate.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { askAndWait } from '../support/raw-client.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

interface Completion {
  readonly text?: string;
  readonly usage: { readonly total_tokens: number };
}

const CLIENT = '127.0.0.1';
const LIMIT = 1000;
const ESTIMATE = 100;

const TOKENS: NamedRule = {
  window: '1m',
  limit: LIMIT,
  algorithm: 'fixed-window',
  cost: ESTIMATE,
  settle: (result: Completion) => result.usage.total_tokens,
};

const used = (total: number): Completion => ({ text: 'Yes.', usage: { total_tokens: total } });

let gate: Gate;
let runs: number;

const intercepted = (intercept: (next: CallHandler) => Observable<unknown>): NestInterceptor => ({
  intercept: (_context, next) => intercept(next),
});

const cached = intercepted(() => of('from the cache'));
const mapped = intercepted((next) => next.handle().pipe(map(() => 'mapped')));
const late = intercepted((next) => next.handle().pipe(timeout(20)));
const retried = intercepted((next) => next.handle().pipe(retry(3)));
const recovered = intercepted((next) => next.handle().pipe(catchError(() => of('sorry'))));
const broken = intercepted((next) => next.handle().pipe(map(() => failing())));

function failing(): never {
  throw new BadGatewayException();
}

@Controller()
class ChatController {
  @Get('value')
  value() {
    return used(40);
  }

  @Get('promise')
  async promise() {
    return used(40);
  }

  @Get('observable')
  observable() {
    return from([used(10), used(40)]);
  }

  @Get('more')
  more() {
    return used(340);
  }

  @Get('fraction')
  fraction() {
    return used(39.2);
  }

  @Get('free')
  free() {
    return used(0);
  }

  @UseInterceptors(mapped)
  @Get('mapped')
  mapped() {
    return used(40);
  }

  @UseInterceptors(cached)
  @Get('cached')
  cached() {
    return used(40);
  }

  @UseInterceptors(late)
  @Get('late')
  async late() {
    await gate.pass();
    return used(40);
  }

  @UseInterceptors(retried)
  @Get('retried')
  async retried() {
    runs += 1;
    if (runs < 3) failing();
    return used(40);
  }

  @UseInterceptors(recovered)
  @Get('recovered')
  recovered() {
    failing();
  }

  @UseInterceptors(broken)
  @Get('broken-after')
  brokenAfter() {
    return used(340);
  }

  @Get('broken')
  broken() {
    failing();
  }

  @Get('refused')
  @HttpCode(422)
  refused() {
    return used(40);
  }

  @Get('piped/:id')
  piped(@Param('id', ParseIntPipe) _id: number) {
    return used(40);
  }

  @Get('nothing')
  nothing() {}

  @Get('odd')
  odd(@Req() { query }: { query: { total: string } }) {
    return used(Number(query.total));
  }

  @Get('slow')
  async slow() {
    await gate.pass();
    return used(340);
  }
}

beforeEach(() => {
  gate = new Gate();
  runs = 0;
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

describe.each(SETUPS)(
  'a rule that settles by what the handler returns, on $framework with $kind',
  (setup) => {
    async function start(rule: object = {}, more: Record<string, NamedRule> = {}) {
      const rules = { tokens: { ...TOKENS, scope: 'shared', ...rule } as NamedRule, ...more };
      const store = virtualStore(setup.kind, new VirtualTime());
      const imports = [RateLimitModule.forRoot({ rules, prefix: uniquePrefix() })];
      const app = await startApp(
        { imports, controllers: [ChatController] },
        { framework: setup.framework, store },
      );
      const service = app.app.get(RateLimitService);
      const taken = async (name = 'tokens'): Promise<number> => {
        const { limit, remaining } = await service.peek(name, CLIENT, { cost: 0 });
        return limit - remaining;
      };
      return {
        ...app,
        store,
        taken,
        untilTaken: (count: number, name?: string) =>
          until(async () => (await taken(name)) === count, `${count} permits to be taken`),
      };
    }

    it.each([
      ['a value', '/value', 40],
      ['a promise', '/promise', 40],
      ['the last value of an observable', '/observable', 40],
      ['more than the estimate', '/more', 340],
      ['a fraction, rounded up', '/fraction', 40],
      ['nothing', '/free', 0],
      ['the value of the handler, though an interceptor maps it', '/mapped', 40],
      ['nothing, since a cache responded and the handler was not called', '/cached', 0],
      ['the runs that succeeded, of a handler that is retried', '/retried', 40],
    ])('is charged %s', async (_title, path, count) => {
      const { get, untilTaken, logs } = await start();
      const { status, headers } = await get(path);
      expect(status).toBe(200);
      expect(headers['ratelimit']).toBe('"tokens";r=900;t=54');
      await untilTaken(count);
      expect(logs.ours()).toEqual([]);
    });

    it.each([
      ['the handler throws', '/broken', 502],
      ['a pipe throws', '/piped/me', 400],
      ['an interceptor throws after it', '/broken-after', 502, 340],
      ['a handler that throws is replaced by an interceptor', '/recovered', 200],
    ])(
      'keeps the estimate, or the larger cost that is known, when %s',
      async (_title, path, status, count = ESTIMATE) => {
        const { get, taken, untilTaken } = await start(
          {},
          { calls: { window: '1m', limit: 9, count: 'successes', scope: 'shared' } },
        );
        expect((await get(path)).status).toBe(status);
        await untilTaken(status === 200 ? 1 : 0, 'calls');
        await untilTaken(count);
        expect(await taken()).toBe(count);
      },
    );

    it.each(['/broken', '/piped/me', '/broken-after', '/recovered'])(
      "refunds the estimate with onError: 'refund' on %s",
      async (path) => {
        const { get, untilTaken } = await start({ onError: 'refund' });
        await get(path);
        await untilTaken(0);
      },
    );

    it('keeps the estimate of a handler that an interceptor no longer awaits', async () => {
      const { get, taken } = await start();
      expect((await get('/late')).status).toBe(500);
      gate.open();
      expect((await get('/free')).status).toBe(200);
      await until(async () => (await taken()) === ESTIMATE, 'the second request to be settled');
    });

    it.each([
      ['undefined', '/nothing', /settle: threw "Cannot read properties/],
      ['NaN', '/odd?total=x', /settle: got NaN/],
      ['a negative number', '/odd?total=-1', /settle: got -1/],
    ])('keeps the estimate and reports it once when settle returns %s', async (_title, path, reason) => {
      const { get, taken, logs } = await start();
      expect((await get(path)).status).toBe(200);
      expect((await get(path)).status).toBe(200);
      await until(() => logs.ours().length > 0, 'a warning');
      expect(await taken()).toBe(2 * ESTIMATE);
      const [message, ...others] = logs.ours().map((line) => line.message);
      expect(message).toMatch(reason);
      expect(message).toMatch(
        'Such a request keeps the charge of its cost; correct the function. (RL_INVALID_VALUE',
      );
      expect(others).toEqual([]);
    });

    it('settles several rules of a route, each by its own function, and leaves the others', async () => {
      const cents = {
        ...TOKENS,
        scope: 'shared',
        cost: 5,
        settle: ({ usage }: Completion) => usage.total_tokens / 10,
      } as const;
      const { get, untilTaken, taken } = await start(
        {},
        { cents, calls: { window: '1m', limit: 9, scope: 'shared' } },
      );
      await get('/value');
      await untilTaken(40);
      await untilTaken(4, 'cents');
      expect(await taken('calls')).toBe(1);
    });

    it('asks for less, in its unit, when the estimate alone is above the limit', async () => {
      const { get } = await start({ unit: 'tokens', cost: () => LIMIT + 1 });
      const { status, body } = await get('/value');
      expect(status).toBe(429);
      expect(JSON.parse(body)).toMatchObject({
        detail: 'Rule "tokens" allows 1000 tokens per 1 m; this request takes more at once, so ask for less.',
        retryAfterMs: null,
      });
    });

    it('settles a rule whose estimate is 0, without a warning', async () => {
      const { get, untilTaken, logs } = await start({ cost: 0 });
      await get('/value');
      await untilTaken(40);
      expect(logs.ours()).toEqual([]);
    });

    it('charges what the handler took when the client disconnected before it ended', async () => {
      const { port, taken, untilTaken } = await start();
      const client = await askAndWait(port, '/slow');
      await until(() => gate.inside === 1, 'the handler to run');
      client.hangUp();
      expect(await taken()).toBe(ESTIMATE);
      gate.open();
      await untilTaken(340);
    });

    it('awaits the settlement when the application ends', async () => {
      const { get, close, store } = await start();
      const adjust = jest.spyOn(store, 'adjust');
      const closed = jest.spyOn(store, 'close');
      await get('/value');
      await close();
      expect(adjust.mock.calls.map(([[charge]]) => charge?.cost)).toEqual([60]);
      expect(await adjust.mock.results[0]!.value).toEqual([true]);
      const [closing = 0] = closed.mock.invocationCallOrder;
      expect(adjust.mock.invocationCallOrder[0]).toBeLessThan(closing);
    });
  },
);
