import { Injectable, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../lib/index.js';
import type { LogLines } from '../support/log-lines.js';
import { until } from '../support/redis/until.mjs';
import { ADAPTERS, startGateway } from './gateway-app.js';
import { GRAPHQL, startGraphql } from './graphql-app.js';

interface WithUser {
  user?: { id?: string };
}

/** The request of GraphQL, or the socket of a gateway. */
function carrierOf(context: ExecutionContext): WithUser {
  if (context.getType<string>() === 'ws') return context.switchToWs().getClient<WithUser>();
  const { req, reply } = context.getArgByIndex<{ req?: WithUser; reply?: { request: WithUser } }>(2);
  return req ?? reply!.request;
}

/** Sets the user after the rate limit guard, as guards of handlers do. */
@Injectable()
class LateGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    carrierOf(context).user = { id: 'ann' };
    return true;
  }
}

const MANY = { window: '1m', limit: 1000 } as const;
const byUser = (context: ExecutionContext) => carrierOf(context).user?.id;

@Resolver()
class Account {
  @RateLimit({ ...MANY, by: 'user' })
  @UseGuards(LateGuard)
  @Query(() => String)
  keyword() {
    return '';
  }

  @RateLimit({ ...MANY, name: 'function', by: byUser })
  @UseGuards(LateGuard)
  @Query(() => String)
  byFunction() {
    return '';
  }

  @RateLimit({ ...MANY, by: 'user' })
  @Query(() => String)
  anonymous() {
    return '';
  }
}

const warned = (logs: LogLines): string[] =>
  logs
    .ours()
    .map(({ message }) => message)
    .filter((message) => message.includes('(RL_USER_AFTER_GUARD'));

describe.each(GRAPHQL)('a user that a later guard of GraphQL sets: $title', (setup) => {
  it('is one warning for a rule by user, and one for a rule by a function', async () => {
    const app = await startGraphql(setup, {}, Account);
    await app.query('{ anonymous }');
    expect(warned(app.logs)).toEqual([]);
    for (let nth = 1; nth <= 2; nth++) await app.query('{ keyword }');
    expect(warned(app.logs)).toEqual([
      expect.stringContaining('rule "default" of Account.keyword counts by user and found no `request.user`'),
    ]);
    for (let nth = 1; nth <= 2; nth++) await app.query('{ byFunction }');
    expect(warned(app.logs).slice(1)).toEqual([
      expect.stringContaining('counts by a function, which found no `request.user`'),
    ]);
    await app.close();
  });
});

describe.each(ADAPTERS)('a user that a later guard of a gateway sets: %s', (adapter) => {
  it('is one warning for a rule by user', async () => {
    @WebSocketGateway()
    class Chat {
      @RateLimit({ ...MANY, by: 'user' })
      @UseGuards(LateGuard)
      @SubscribeMessage('say')
      say() {
        return { event: 'said', data: '' };
      }
    }
    const app = await startGateway(adapter, {}, 'express', Chat);
    const client = await app.from('203.0.113.1');
    client.send('say');
    await until(() => client.received.length > 0, 'an answer');
    expect(warned(app.logs)).toHaveLength(1);
    await app.close();
  });
});
