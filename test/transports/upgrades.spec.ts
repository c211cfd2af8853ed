import { connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  limitBeforeRouting,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Reports {
  @RateLimit({ name: 'report', algorithm: 'concurrency', limit: 1, by: 'everyone' })
  @Get('report')
  report() {
    return 'done';
  }
}

@Resolver()
class Feed {
  @Query(() => String, { nullable: true })
  feed() {
    return 'news';
  }
}

// With subscriptions, @fastify/websocket passes each upgrade of the connection to a route.
describe('Mercurius with subscriptions', () => {
  let app: INestApplication;
  let port: number;
  let post: () => Promise<number>;

  async function start(limits: RateLimitModuleOptions, isEarly: boolean): Promise<void> {
    const graphql = GraphQLModule.forRoot<MercuriusDriverConfig>({
      ...{ driver: MercuriusDriver, autoSchemaFile: true, subscription: true },
    });
    const metadata = {
      imports: [graphql, RateLimitModule.forRoot(limits)],
      controllers: [Reports],
      providers: [Feed],
    };
    const started = await startApp(metadata, {
      framework: 'fastify',
      configure: (each) => {
        app = each;
        if (isEarly) limitBeforeRouting(each, 'flood');
      },
    });
    port = started.port;
    // @fastify/websocket leaves the connections of its upgrades to other routes open.
    (app.getHttpServer() as Server).on('connection', (socket: Socket) => void sockets.push(socket));
    post = async () => {
      const body = JSON.stringify({ query: '{ feed }' });
      const headers = { 'content-type': 'application/json' };
      return (await started.send({ method: 'POST', path: '/graphql', headers, body })).status;
    };
  }

  const sockets: Socket[] = [];

  beforeEach(() => void sockets.splice(0));

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await closeApps();
  });

  /** Requests an upgrade of a path. Returns the first line of the response. */
  async function upgrade(path: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    const lines = ['GET ' + path + ' HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
    const ofWebSocket = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const ofGraphql = ['Sec-WebSocket-Protocol: graphql-transport-ws'];
    socket.write([...lines, ...ofWebSocket, ...ofGraphql, '', ''].join('\r\n'));
    const [data] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return data.toString().split('\r\n')[0]!;
  }

  const connections = () =>
    new Promise<number>((resolve) => {
      const server = app.getHttpServer() as {
        getConnections(found: (error: unknown, count: number) => void): void;
      };
      server.getConnections((_error, count) => resolve(count));
    });

  it('a request for an upgrade that a route answers returns its permit', async () => {
    await start({}, false);
    expect(await upgrade('/report')).toBe('HTTP/1.1 200 OK');
    await until(async () => (await upgrade('/report')) === 'HTTP/1.1 200 OK', 'a permit that is returned');
  });

  it('an upgrade that is denied before routing leaves no connection', async () => {
    await start({ onDemand: { flood: { window: '1m', limit: 1, algorithm: 'fixed-window' } } }, true);
    await upgrade('/graphql');
    for (let nth = 0; nth < 5; nth += 1)
      expect(await upgrade('/graphql')).toBe('HTTP/1.1 429 Too Many Requests');
    await until(async () => (await connections()) === 0, 'the end of all connections');
  });

  it('a request that is denied before routing gets a 429', async () => {
    await start({ onDemand: { flood: { window: '1m', limit: 1, algorithm: 'fixed-window' } } }, true);
    expect([await post(), await post()]).toEqual([200, 429]);
  });
});
