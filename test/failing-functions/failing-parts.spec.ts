import { Controller, Get, HttpException, Injectable } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocketGateway } from '@nestjs/websockets';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { MemoryStore, RateLimit, RateLimitGuard, RateLimitModule, type RuleSource } from '../../lib/index.js';
import type { Adjustment } from '../../lib/store.js';
import { observed } from '../../lib/transports/observed-iterable.js';
import { Gate } from '../support/gate.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { BEHAVIOURS } from './behaviours.mjs';

afterEach(async () => {
  gate.open();
  await closeApps();
});

/** Jest fails a test during which a rejection is not handled, as Node.js would end the process. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

let gate = new Gate();

/** A store of an application that decides, and fails to adjust. */
class HalfStore extends MemoryStore {
  override adjust(_adjustments: readonly Adjustment[]): Promise<never> {
    this.adjusted += 1;
    return Promise.reject(new Error('cannot adjust'));
  }
  adjusted = 0;
}

@Controller()
class Desk {
  @RateLimit({ window: '1m', limit: 5, count: 'failures' })
  @RateLimit({ name: 'held', algorithm: 'concurrency', limit: 5, lease: '1s' })
  @Get('both')
  both() {
    return 'both';
  }

  @RateLimit({ algorithm: 'concurrency', limit: 5, lease: '3s' })
  @Get('held')
  async held() {
    await gate.pass();
    return 'held';
  }
}

describe('an application with a store of its own that fails to refund', () => {
  beforeEach(() => void (gate = new Gate()));

  it('continues after a response whose permits cannot be released or refunded', async () => {
    const store = new HalfStore();
    const { get, logs } = await startApp(
      { imports: [RateLimitModule.forRoot()], controllers: [Desk] },
      { framework: 'express', store },
    );
    expect((await get('/both')).status).toBe(200);
    await until(() => store.adjusted === 2, 'the release and the refund');
    await settled();
    expect(logs.ours()).toContainEqual({
      level: 'error',
      message: 'The permits of a request could not be refunded.',
    });
    expect((await get('/both')).status).toBe(200);
  });

  it('continues when leases cannot be renewed, tries again, and reports that their permits are lost', async () => {
    const store = new HalfStore();
    const { get, logs } = await startApp(
      { imports: [RateLimitModule.forRoot()], controllers: [Desk] },
      { framework: 'express', store },
    );
    const held = get('/held');
    await until(() => store.adjusted >= 2, 'a second renewal');
    const lost = () => logs.ours().filter(({ message }) => message.includes('RL_PERMITS_LOST'));
    await until(() => lost().length === 1, 'the report of the lost permits');
    gate.open();
    expect((await held).status).toBe(200);
    await settled();
  });
});

describe('an application with a source of live rules that fails', () => {
  it.each(Object.keys(BEHAVIOURS))(
    'starts with the rules in the code when its load %s',
    async (behaviour) => {
      const load = BEHAVIOURS[behaviour]! as RuleSource['load'];
      const { get } = await startApp(
        {
          imports: [RateLimitModule.forRoot({ liveRules: { load, watch: () => () => undefined } })],
          controllers: [Desk],
        },
        { framework: 'express' },
      );
      await settled();
      expect((await get('/both')).status).toBe(200);
    },
  );
});

describe('a subscription of an application that ends', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['returns no promise', () => ({ value: undefined, done: true })],
  ])('is ended although the `return` of its iterator %s', async (_how, end) => {
    const closed = new AbortController();
    const ended = jest.fn();
    const iterator = { next: () => new Promise<never>(() => undefined), return: end as never };
    observed({ [Symbol.asyncIterator]: () => iterator }, ended, closed.signal);
    closed.abort();
    await settled();
    expect(ended).toHaveBeenCalledTimes(1);
  });
});

const CIRCLE: Record<string, unknown> = {};
CIRCLE['circle'] = CIRCLE;

@Injectable()
class CircularGuard extends RateLimitGuard {
  protected override deny(): never {
    throw new HttpException(CIRCLE, 429);
  }
}

@WebSocketGateway()
class Room {
  @RateLimit({ limit: 0, window: '1m' })
  handleConnection() {}
}

describe('a connection that is denied with a body that cannot be sent', () => {
  it.each(['socket.io', 'ws'] as const)(
    'is refused with %s, and the application continues',
    async (adapter) => {
      const { port } = await startApp(
        {
          imports: [RateLimitModule.forRoot({ registerGuard: false })],
          providers: [Room, { provide: APP_GUARD, useClass: CircularGuard }],
        },
        {
          framework: 'express',
          configure: (app) => {
            if (adapter === 'ws') app.useWebSocketAdapter(new WsAdapter(app));
          },
        },
      );
      const refused = await new Promise<string>((resolve) => {
        if (adapter === 'ws') {
          new WebSocket(`ws://127.0.0.1:${port}`).once('error', ({ message }) => resolve(message));
          return;
        }
        const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true });
        socket.once('connect_error', ({ message }) => {
          socket.disconnect();
          resolve(message);
        });
      });
      expect(refused).toBe(adapter === 'ws' ? 'Unexpected server response: 500' : 'Internal Server Error');
    },
  );
});
