import { Controller, Get, Injectable, Post, Res } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { WebSocketGateway } from '@nestjs/websockets';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { RateLimit, RateLimitModule, RateLimitService, Settle, SkipRateLimit } from '../../lib/index.js';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const CLIENT = '127.0.0.1';
const RULE = { window: '1m', limit: 1000, algorithm: 'fixed-window', scope: 'shared', cost: 100 } as const;
const SETTLED = { ...RULE, settle: () => null } as const;

const NOT_RECEIVED = 'needs a parameter of an HTTP handler; elsewhere, use RateLimitService.reserve()';

type Settled = (cost: number | Record<string, number>) => void;

/** A response of Express, or of Fastify. */
type AnyResponse = ServerResponse & { readonly raw?: ServerResponse };

afterEach(closeApps);

describe.each(FRAMEWORKS)('a handler that settles by hand, on %s', (framework) => {
  it('that misspells a rule is one warning with the name that was meant, and the charge stays', async () => {
    @Controller()
    class Chat {
      @Get()
      chat(@Res() response: AnyResponse, @Settle() settle: Settled) {
        settle({ tokns: 40, cents: 4 });
        (response.raw ?? response).end('Yes.');
      }
    }
    const rules = { tokens: SETTLED, cents: SETTLED, calls: RULE };
    const imports = [RateLimitModule.forRoot({ rules })];
    const { app, get, logs } = await startApp({ imports, controllers: [Chat] }, { framework });
    const limits = app.get(RateLimitService);
    const taken = async (name: string) => 1000 - (await limits.peek(name, CLIENT, { cost: 0 })).remaining;
    for (let nth = 0; nth < 2; nth += 1) expect((await get('/')).body).toBe('Yes.');
    await until(async () => (await taken('cents')) === 8, 'both requests to be settled');
    expect(await taken('tokens')).toBe(200);
    expect(logs.ours().filter(({ level }) => level !== 'log')).toEqual([
      {
        level: 'warn',
        message:
          'A request for Chat.chat, with rules "tokens", "cents" to settle, was settled with the rule "tokns", which is not ' +
          'among them. Rules that settle() does not name keep their charge. Correct the name: did you mean "tokens"? ' +
          '(RL_SETTLED_IN_PART, see docs/warnings.md)',
      },
    ]);
  });

  it('may name a rule that does not apply to the client, which is no warning of a misspelled rule', async () => {
    @Controller()
    class Chat {
      @Get()
      chat(@Res() response: AnyResponse, @Settle() settle: Settled) {
        settle({ tokens: 40, cents: 4 });
        (response.raw ?? response).end('Yes.');
      }
    }
    const rules = { tokens: { ...SETTLED, allowList: [CLIENT] }, cents: SETTLED };
    const { app, get, logs } = await startApp(
      { imports: [RateLimitModule.forRoot({ rules })], controllers: [Chat] },
      { framework },
    );
    await get('/');
    const limits = app.get(RateLimitService);
    const taken = async (name: string) => 1000 - (await limits.peek(name, CLIENT, { cost: 0 })).remaining;
    await until(async () => (await taken('cents')) === 4, 'the request to be settled');
    expect(await taken('tokens')).toBe(0);
    expect(logs.ours().filter(({ level }) => level !== 'log')).toEqual([]);
  });

  it('that settles after its response has ended is one warning', async () => {
    const settles: Settled[] = [];
    @Controller()
    class Chat {
      @RateLimit(SETTLED)
      @Get()
      chat(@Res() response: AnyResponse, @Settle() settle: Settled) {
        settle(40);
        settles.push(settle);
        (response.raw ?? response).end('Yes.');
      }
    }
    const imports = [RateLimitModule.forRoot()];
    const { app, get, logs } = await startApp({ imports, controllers: [Chat] }, { framework });
    await get('/');
    const route = { route: [Chat, 'chat'], rule: 'default' } as const;
    const taken = async () =>
      1000 - (await app.get(RateLimitService).peek(route, CLIENT, { cost: 0 })).remaining;
    await until(async () => (await taken()) === 40, 'the request to be settled');
    for (let nth = 0; nth < 2; nth += 1) settles[0]!(50);
    expect(await taken()).toBe(40);
    expect(logs.ours().filter(({ level }) => level !== 'log')).toEqual([
      { level: 'warn', message: expect.stringContaining('after its response and its handler had ended') },
    ]);
  });
});

describe('@Settle() without effect stops the application', () => {
  it('in a handler whose rules are not settled, unless the rules are skipped', async () => {
    @RateLimit(RULE)
    @Controller()
    class Chat {
      @Post()
      chat(@Settle() settle: Settled) {
        settle(1);
      }
    }
    @Controller('free')
    class FreeChat extends Chat {
      @SkipRateLimit()
      @Post()
      override chat(@Settle() settle: Settled) {
        super.chat(settle);
      }
    }
    const imports = [RateLimitModule.forRoot()];
    expect(await refusalToStart({ imports, controllers: [Chat, FreeChat] })).toBe(
      configMessage(
        '@Settle() on Chat.chat: no rule of this handler has settle; write settle: () => null in one',
      ),
    );
  });

  it('in a handler that no rule limits, but not in one whose rule has another mistake', async () => {
    @Controller()
    class Chat {
      @Post()
      chat(@Settle() settle: Settled) {
        settle(1);
      }

      @RateLimit({ ...SETTLED, limit: -1 })
      @Get()
      wrong(@Settle() settle: Settled) {
        settle(1);
      }
    }
    const imports = [RateLimitModule.forRoot()];
    expect(await refusalToStart({ imports, controllers: [Chat] })).toBe(
      configMessage(
        `@RateLimit on Chat.wrong.limit: got -1; allowed: ${ALLOWED.limit}`,
        '@Settle() on Chat.chat: no rule of this handler has settle; write settle: () => null in one',
      ),
    );
  });

  it('outside HTTP, where no parameter of a handler can settle its request', async () => {
    @Controller()
    class Messages {
      @RateLimit({ ...SETTLED, by: 'everyone' })
      @MessagePattern('chat')
      chat(@Settle() settle: Settled) {
        settle(1);
      }
    }
    @Injectable()
    class Model {
      @RateLimit({ ...SETTLED, name: 'calls', by: 'everyone' })
      async call(@Settle() settle: Settled) {
        settle(1);
      }
    }
    const imports = [RateLimitModule.forRoot()];
    expect(await refusalToStart({ imports, controllers: [Messages], providers: [Model] })).toBe(
      configMessage(
        `@Settle() on Messages.chat: ${NOT_RECEIVED}`,
        `@Settle() on Model.call: ${NOT_RECEIVED}`,
      ),
    );
  });

  it('on a method instead of a parameter', async () => {
    class Chat {
      chat() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Chat.prototype, 'chat')!;
    Controller()(Chat);
    for (const decorate of [Get(), RateLimit(SETTLED), Settle() as unknown as MethodDecorator])
      decorate(Chat.prototype, 'chat', descriptor);
    const imports = [RateLimitModule.forRoot()];
    expect(await refusalToStart({ imports, controllers: [Chat] })).toBe(
      configMessage(`@Settle() on Chat.chat: ${NOT_RECEIVED}`),
    );
  });
});

it('a rule that settles on the connections to a gateway stops the application, since they have no result', async () => {
  @WebSocketGateway()
  class Room {
    @RateLimit(SETTLED)
    handleConnection() {}
  }
  expect(await refusalToStart({ imports: [RateLimitModule.forRoot()], providers: [Room] })).toBe(
    configMessage(
      'rule "default" of Room.handleConnection: settles by a result, which a connection lacks; use RateLimitService.reserve()',
    ),
  );
});
