import { Module, type Type } from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import { refusalToStart } from '../support/nest-app.js';
import { ADAPTERS, startGateway } from './gateway-app.js';
import { GRAPHQL, startGraphql } from './graphql-app.js';

const HELD = { name: 'held', limit: 1, algorithm: 'concurrency' } as const;
const WINDOW = { name: 'window', window: '1m', limit: 2 } as const;

/** Returns the class that a function makes, as mixins do. */
function gatewayFor(event: string): Type {
  @WebSocketGateway()
  class Mixin {
    @RateLimit(WINDOW)
    @RateLimit(HELD)
    @SubscribeMessage(event)
    say() {
      return { event: 'said', data: '' };
    }
  }
  return Mixin;
}

abstract class Base {
  @RateLimit(WINDOW)
  @RateLimit(HELD)
  @SubscribeMessage('say')
  say() {
    return { event: 'said', data: '' };
  }
}

@WebSocketGateway()
class Derived extends Base {}

function resolverWith(rule: RouteRule): Type {
  @Resolver()
  class Made {
    @RateLimit(rule)
    @Query(() => String, { nullable: true })
    orders() {
      return 'ok';
    }
  }
  return Made;
}

describe.each(ADAPTERS)('a gateway on %s', (adapter) => {
  it.each([
    ['of a class that a function makes', gatewayFor('say')],
    ['that inherits its handler from an abstract class', Derived],
  ])('%s is limited, and its permits are released', async (_, gateway) => {
    const app = await startGateway(adapter, {}, 'express', gateway);
    const client = await app.from('203.0.113.1');
    for (let nth = 1; nth <= 3; nth++) {
      client.send('say');
      await until(() => client.received.length === nth, 'an answer');
    }
    const policies = { 'violated-policies': ['window'] };
    expect(client.received).toEqual([
      ['said', ''],
      ['said', ''],
      ['exception', expect.objectContaining(policies)],
    ]);
    await app.close();
  });
});

describe('a resolver that a factory provides', () => {
  const [apollo] = GRAPHQL;
  const provided = (type: Type) => ({ provide: type, useFactory: () => new type() as object });

  it('has the limits of its handlers', async () => {
    const app = await startGraphql(apollo!, {}, provided(resolverWith(WINDOW)) as never);
    const statuses: number[] = [];
    for (let nth = 1; nth <= 3; nth++) statuses.push((await app.query('{ orders }')).status);
    expect(statuses).toEqual([200, 200, 429]);
    await app.close();
  });

  it.each([HELD, { ...WINDOW, name: 'held', count: 'failures' } as const])(
    'stops the application if a rule needs the end of the handler: %p',
    async (rule) => {
      @Module({ providers: [provided(resolverWith(rule))] })
      class Factories {}
      const graphql = GraphQLModule.forRoot({ autoSchemaFile: true, ...apollo!.options });
      const imports = [graphql, RateLimitModule.forRoot({}), Factories];
      expect(await refusalToStart({ imports })).toContain(
        'rule "held" of Made.orders: needs the end of the handler, which cannot be observed, since a factory or a ' +
          'value provides Made; provide the class, with useClass',
      );
    },
  );
});
