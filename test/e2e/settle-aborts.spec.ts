import {
  Controller,
  Get,
  Injectable,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Observable } from 'rxjs';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { askAndWait } from '../support/raw-client.js';
import { until } from '../support/redis/until.mjs';

const CLIENT = '127.0.0.1';
const LIMIT = 1000;
const ESTIMATE = 100;

const onDemand = {
  tokens: {
    window: '1h',
    limit: LIMIT,
    algorithm: 'fixed-window',
    by: 'ip',
    cost: ESTIMATE,
    settle: (text: string, _context: unknown, total: number) => total + text.length,
  },
  streams: { algorithm: 'concurrency', limit: 3, by: 'ip' },
} as const;

let gate: Gate;
let ran: number;

@Injectable()
class SlowGuard implements CanActivate {
  async canActivate() {
    await gate.pass();
    return true;
  }
}

@Injectable()
class SlowInterceptor implements NestInterceptor {
  async intercept(_context: ExecutionContext, next: CallHandler) {
    await gate.pass();
    return next.handle();
  }
}

@Injectable()
class LeavingInterceptor implements NestInterceptor {
  async intercept(): Promise<Observable<unknown>> {
    await gate.pass();
    throw new Error('the client has left');
  }
}

function reply(length: number): string {
  ran += 1;
  return 'x'.repeat(length);
}

@RateLimit('tokens')
@RateLimit('streams')
@Controller()
class Chat {
  @UseGuards(SlowGuard)
  @Get('in-a-guard')
  inGuard() {
    return reply(340);
  }

  @UseInterceptors(SlowInterceptor)
  @Get('in-an-interceptor')
  inInterceptor() {
    return reply(340);
  }

  @UseInterceptors(LeavingInterceptor)
  @Get('not-called')
  notCalled() {
    return reply(340);
  }

  @Get('in-the-handler')
  async inHandler() {
    await gate.pass();
    return reply(340);
  }

  @Get('in-the-stream')
  async *inStream() {
    yield reply(300);
    await gate.pass();
    yield reply(40);
  }

  @Get('after')
  after() {
    return reply(340);
  }
}

beforeEach(() => {
  gate = new Gate();
  ran = 0;
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

describe.each(FRAMEWORKS)('a customer whose client disconnects, on %s', (framework) => {
  async function start() {
    const imports = [RateLimitModule.forRoot({ onDemand })];
    const { app, port, logs } = await startApp({ imports, controllers: [Chat] }, { framework });
    const service = app.get(RateLimitService);
    const left = async () => {
      const { decisions } = await service.peek(['tokens', 'streams'], CLIENT, { cost: 0 });
      return decisions.map(({ remaining }) => remaining);
    };
    const untilLeft = (...wanted: number[]) =>
      until(async () => String(await left()) === String(wanted), `${String(wanted)} to be left`);
    return { port, left, untilLeft, logs };
  }

  it.each([
    ['in a guard before the handler', '/in-a-guard', ESTIMATE],
    ['in an interceptor before the handler', '/in-an-interceptor', ESTIMATE],
    ['in an interceptor that calls no handler then', '/not-called', ESTIMATE],
    ['in the handler', '/in-the-handler', 340],
    ['in the stream', '/in-the-stream', 300],
  ])(
    '%s is charged the estimate or what was taken, and its stream is free again',
    async (_stage, path, taken) => {
      const { port, left, untilLeft, logs } = await start();
      const client = await askAndWait(port, path);
      await until(() => gate.inside === 1, 'the request to wait');
      expect(await left()).toEqual([LIMIT - ESTIMATE, 2]);
      client.hangUp();
      if (path === '/in-the-handler') gate.open();
      await untilLeft(LIMIT - taken, 3);
      gate.open();
      expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
    },
  );

  it('after the response is charged what the response took, once', async () => {
    const { port, untilLeft } = await start();
    const client = await askAndWait(port, '/after');
    await until(() => client.received().includes('x'.repeat(340)), 'the response');
    client.hangUp();
    await untilLeft(LIMIT - 340, 3);
    expect(ran).toBe(1);
  });
});
