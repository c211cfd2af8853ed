import { Controller, Injectable, UseInterceptors, type NestInterceptor } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { ApolloDriver } from '@nestjs/apollo';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterEach, describe, expect, it } from '@jest/globals';
import { io } from 'socket.io-client';
import { lastValueFrom, of } from 'rxjs';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { closeApps, startApp, type TestApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { freePort } from '../support/redis/free-port.mjs';

/** Answers in place of each handler, as the CacheInterceptor of Nest does. */
@Injectable()
class Cached implements NestInterceptor {
  intercept() {
    return of('cached');
  }
}

const LIMIT = 5;

/** A handler of each transport, whose interceptor is one of its class. */
function handlers(...interceptors: ClassDecorator[]) {
  @Controller()
  class Messages {
    @RateLimit('login')
    @MessagePattern('login')
    login() {
      return 'handled';
    }
  }

  @Resolver()
  class Queries {
    @RateLimit('login')
    @Query(() => String)
    login() {
      return 'handled';
    }
  }

  @WebSocketGateway()
  class Gateway {
    @RateLimit('login')
    @SubscribeMessage('login')
    login() {
      return 'handled';
    }
  }
  for (const type of [Messages, Queries, Gateway]) for (const decorate of interceptors) decorate(type);
  return { controllers: [Messages], providers: [Queries, Gateway] };
}

const PLACES = [
  {
    place: 'of the application',
    start: () => start(handlers(), { provide: APP_INTERCEPTOR, useClass: Cached }),
  },
  { place: 'of a class', start: () => start(handlers(UseInterceptors(Cached))) },
];

async function start({ controllers, providers }: ReturnType<typeof handlers>, ...others: object[]) {
  const options = {
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: await freePort() },
  } as const;
  const started = await startApp(
    {
      imports: [
        GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true, path: '/graphql' }),
        RateLimitModule.forRoot({
          onDemand: { login: { window: '1m', limit: LIMIT, by: 'everyone', count: 'failures' } },
        }),
      ],
      controllers,
      providers: [...providers, ...(others as [])],
    },
    {
      framework: 'express',
      configure: (app) => {
        app.connectMicroservice<MicroserviceOptions>(options, { inheritAppConfig: true });
      },
    },
  );
  await started.app.startAllMicroservices();
  return { ...started, options };
}

type App = Awaited<ReturnType<typeof start>>;

const CLIENTS: Readonly<Record<string, (app: App) => Promise<unknown>>> = {
  'GraphQL (Apollo)': async (app) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ login }' });
    const answer = await app.send({ method: 'POST', path: '/graphql', headers, body });
    return (JSON.parse(answer.body) as { data: { login: unknown } }).data.login;
  },
  'microservices (TCP)': async ({ options }) => {
    const client = ClientProxyFactory.create(options);
    const answer: unknown = await lastValueFrom(client.send('login', ''));
    await client.close();
    return answer;
  },
  'gateways (Socket.IO)': async ({ port }) => {
    const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true });
    const answer: unknown = await socket.emitWithAck('login', '');
    socket.disconnect();
    return answer;
  },
};

/** Nest 11 runs no interceptor of the application for gateways. */
function clientsOf(place: string): string[] {
  const isRun = (transport: string) =>
    process.env['NEST_11'] === undefined || place === 'of a class' || !transport.startsWith('gateways');
  return Object.keys(CLIENTS).filter(isRun);
}

async function remaining(app: TestApp): Promise<number> {
  const [login] = await app.app.get(RateLimitService).usage('everyone', ['login']);
  return login!.remaining;
}

describe.each(PLACES)("an interceptor $place answers instead of a handler with count: 'failures'", (each) => {
  afterEach(closeApps);

  it.each(clientsOf(each.place))('is a success, which is not counted: %s', async (transport) => {
    const app = await each.start();
    for (let request = 0; request < 3; request++) expect(await CLIENTS[transport]!(app)).toBe('cached');
    await until(async () => (await remaining(app)) === LIMIT, 'the refund of the successes');
  });
});
