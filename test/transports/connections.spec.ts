import { once } from 'node:events';
import { Injectable, type Type } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { RateLimit } from '../../lib/index.js';
import { startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { ADAPTERS, startGateway, type Adapter } from './gateway-app.js';
import { INSTANCE } from '../support/denial-id.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;
const ADA = '203.0.113.1';
const GRACE = '203.0.113.2';

@WebSocketGateway()
class Lobby {
  readonly inits: unknown[] = [];

  afterInit(server: unknown) {
    this.inits.push(server);
  }

  @RateLimit({ ...MINUTE, name: 'connect', limit: 2 })
  handleConnection() {}

  @SubscribeMessage('free')
  free() {
    return { event: 'freed', data: 'free' };
  }
}

@WebSocketGateway()
class Seats {
  @RateLimit({ name: 'open', algorithm: 'concurrency', limit: 1 })
  handleConnection() {}
}

@WebSocketGateway({ namespace: '/vip' })
class Vip {
  server!: { emit(event: string, data: string): void };
  readonly transports: { readonly readyState: string }[] = [];

  afterInit({ server }: { readonly server: Vip['server'] & Listening }) {
    this.server = server;
    server.on('connection', ({ conn }) => this.transports.push(conn));
  }

  @RateLimit({ ...MINUTE, limit: 0 })
  handleConnection() {}
}

interface Listening {
  on(event: 'connection', listener: (socket: { readonly conn: Vip['transports'][number] }) => void): void;
}

@WebSocketGateway()
class Members extends Seats {
  afterInit(server: SocketIoServer) {
    server.use(({ handshake }, next) =>
      next(handshake.auth['member'] ? undefined : new Error('not a member')),
    );
  }
}

/** A server of Socket.IO. */
interface SocketIoServer {
  use(
    middleware: (
      socket: { readonly handshake: { readonly auth: Readonly<Record<string, unknown>> } },
      next: (error?: Error) => void,
    ) => void,
  ): void;
}

@WebSocketGateway({ connectionStateRecovery: { skipMiddlewares: false } })
class Recovering {
  @RateLimit({ name: 'open', algorithm: 'concurrency', limit: 1 })
  handleConnection(client: { emit(event: string): void }) {
    client.emit('hello');
  }
}

type App = Awaited<ReturnType<typeof startGateway>>;

const running: (App | { close(): unknown })[] = [];

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.close();
});

async function start(
  adapter: Adapter,
  gateway: Type,
  limits = {},
  framework: 'express' | 'fastify' = 'express',
) {
  const app = await startGateway(adapter, limits, framework, gateway);
  running.push(app);
  return app;
}

/** What a client gets that may not connect. */
interface Denial {
  readonly status?: number;
  readonly headers?: Record<string, unknown>;
  readonly body: Record<string, unknown>;
}

/** Connects, and returns the open socket or the denial. */
function connect(adapter: Adapter, port: number, ip: string, transport = 'websocket') {
  const extraHeaders = { 'x-forwarded-for': ip };
  return adapter === 'ws'
    ? connectNative(port, extraHeaders)
    : connectSocketIo(port, extraHeaders, transport);
}

function connectNative(port: number, headers: Record<string, string>) {
  return new Promise<'open' | Denial>((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers });
    running.push({ close: () => socket.terminate() });
    socket.once('open', () => resolve('open'));
    socket.once('unexpected-response', (_, response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: JSON.parse(text) as never }),
      );
    });
    socket.once('error', reject);
  });
}

function connectSocketIo(port: number, extraHeaders: Record<string, string>, transport: string) {
  return new Promise<'open' | Denial>((resolve) => {
    const socket: Socket = io(`http://127.0.0.1:${port}`, {
      transports: [transport],
      forceNew: true,
      reconnection: false,
      extraHeaders,
    });
    running.push({ close: () => socket.disconnect() });
    socket.once('connect', () => resolve('open'));
    socket.once('connect_error', (error: Error & { data?: Record<string, unknown> }) =>
      resolve({ body: { ...error.data, message: error.message } }),
    );
  });
}

/** Resolves with what a client of Socket.IO next receives with an event. */
const received = (socket: Socket, event: string) =>
  new Promise<unknown>((resolve) => socket.once(event, resolve));

const PROBLEM = {
  status: 429,
  title: 'Quota exceeded',
  'violated-policies': ['connect'],
  retryAfterMs: expect.any(Number),
  ...INSTANCE,
};

const SETUPS = ADAPTERS.flatMap((adapter) =>
  (['express', 'fastify'] as const).map((framework) => ({ adapter, framework })),
);

/** Opens a transport of Socket.IO, joins a namespace, and keeps the transport whatever is answered. */
async function stay(port: number, ip: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`, {
    headers: { 'x-forwarded-for': ip },
  });
  running.push({ close: () => socket.terminate() });
  const received: string[] = [];
  /** Sends a packet, and waits until the server has read it. */
  const send = async (packet: string) => {
    socket.send(packet);
    socket.ping();
    await once(socket, 'pong');
  };
  const state = { socket, received, isClosed: false, send };
  socket.on('close', () => (state.isClosed = true));
  socket.on('message', (message: Buffer) => {
    received.push(message.toString());
    if (message.toString() === '2') socket.send('3'); // answers each ping
  });
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('40');
  await until(() => received.some((each) => each.startsWith('4')), 'an answer');
  return state;
}

describe('a denied client of Socket.IO that keeps its transport', () => {
  it('is disconnected, and one that was allowed stays connected', async () => {
    const { port } = await start('socket.io', Lobby);
    const allowed = [await stay(port, ADA), await stay(port, ADA)];
    const denied = await stay(port, ADA);
    expect(denied.received.at(-1)).toMatch(/^44\{"message":/);
    await until(() => denied.isClosed, 'the end of the denied connection');
    expect(allowed.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  });

  it('is disconnected at once if it does not read what it was sent, although it uses another namespace', async () => {
    const { port, app } = await start('socket.io', Vip);
    const { socket } = await stay(port, ADA);
    const { server, transports } = app.get(Vip);
    socket.pause();
    server.emit('text', 'x'.repeat(20_000_000));
    socket.send('40/vip,');
    await until(() => transports[0]?.readyState === 'closed', 'the end of the connection');
  });
});

describe.each(SETUPS)('@RateLimit on handleConnection: $adapter on $framework', ({ adapter, framework }) => {
  it('a denied client is answered with problem details in its handshake, and others connect', async () => {
    const { port, app } = await start(adapter, Lobby, {}, framework);
    expect([await connect(adapter, port, ADA), await connect(adapter, port, ADA)]).toEqual(['open', 'open']);
    const denied = (await connect(adapter, port, ADA)) as Denial;
    expect(denied.body).toMatchObject(PROBLEM);
    if (adapter === 'ws') {
      expect(denied.status).toBe(429);
      expect(denied.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^\d+$/),
        'content-type': 'application/problem+json; charset=utf-8',
        'ratelimit-policy': '"connect";q=2;w=60',
      });
    } else expect(denied.body['message']).toMatch(/^Rule "connect" allows 2 per 1 m/);
    expect(await connect(adapter, port, GRACE)).toBe('open');
    expect(app.get(Lobby).inits).toHaveLength(1);
  });

  it('with concurrency, the open connections of a client are limited, and a closed one makes room', async () => {
    const { port } = await start(adapter, Seats, {}, framework);
    expect(await connect(adapter, port, ADA)).toBe('open');
    expect((await connect(adapter, port, ADA)) as Denial).toMatchObject({
      body: { 'violated-policies': ['open'] },
    });
    expect(await connect(adapter, port, GRACE)).toBe('open');
    for (const socket of running.splice(1)) await socket.close();
    await until(async () => (await connect(adapter, port, ADA)) === 'open', 'the permit');
  });
});

describe('connections to gateways', () => {
  it('a client of Socket.IO that leaves a namespace and keeps its transport returns its permit', async () => {
    const { port } = await start('socket.io', Seats);
    const { received, send } = await stay(port, ADA);
    for (let nth = 2; nth <= 4; nth += 1) {
      await send('41'); // leaves the namespace
      await until(async () => {
        const answers = received.length;
        await send('40'); // joins it again
        await until(() => received.length > answers, 'an answer');
        return received.at(-1)!.startsWith('40');
      }, 'the permit');
    }
  });

  it("a client of Socket.IO that the gateway's middleware denies returns its permit, and may keep its transport", async () => {
    const { port } = await start('socket.io', Members);
    const { received, send } = await stay(port, ADA);
    expect(received.at(-1)).toBe('44{"message":"not a member"}');
    await until(async () => {
      const answers = received.length;
      await send('40{"member":true}');
      await until(() => received.length > answers, 'an answer');
      return received.at(-1)!.startsWith('40');
    }, 'the permit');
  });

  it('a client of Socket.IO that polls is denied as well', async () => {
    const { port } = await start('socket.io', Lobby);
    const poll = () => connect('socket.io', port, ADA, 'polling');
    expect([await poll(), await poll()]).toEqual(['open', 'open']);
    expect(await poll()).toMatchObject({ body: PROBLEM });
  });

  it.each(ADAPTERS)("the module's rules limit the messages and not the connections: %s", async (adapter) => {
    const rules = { default: { ...MINUTE, limit: 1 } };
    const { port } = await start(adapter, Lobby, { rules });
    expect([await connect(adapter, port, ADA), await connect(adapter, port, ADA)]).toEqual(['open', 'open']);
    expect(await connect(adapter, port, ADA)).toMatchObject({ body: { 'violated-policies': ['connect'] } });
  });

  it.each(ADAPTERS)(
    'a function of a rule that throws is an error in the handshake, and no hang: %s',
    async (adapter) => {
      const broken = {
        by: () => {
          throw new Error('broken');
        },
      };
      const { port, logs } = await start(adapter, Lobby, { overrides: { connect: broken } });
      expect(await connect(adapter, port, ADA)).toMatchObject({ body: { statusCode: 500 } });
      expect(logs.ours().some(({ message }) => message.includes('rules of a connection failed'))).toBe(true);
    },
  );

  it('an application without the module has no limit on a class that another application limits', async () => {
    await start('socket.io', Lobby);
    const other = await startApp({ providers: [Lobby] }, { framework: 'express' });
    running.push(other);
    for (let nth = 1; nth <= 4; nth++) expect(await connect('socket.io', other.port, ADA)).toBe('open');
  });

  it('afterInit as a property stops the application', async () => {
    @Injectable()
    @WebSocketGateway()
    class Hidden {
      afterInit = () => undefined;

      @RateLimit({ ...MINUTE, limit: 1 })
      handleConnection() {}
    }
    await expect(start('ws', Hidden)).rejects.toThrow(
      '@RateLimit on Hidden.handleConnection: afterInit is a property, which hides its server; write afterInit as a method',
    );
  });

  it('a client of Socket.IO whose state is recovered is limited like any other', async () => {
    const { port } = await start('socket.io', Recovering);
    const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true });
    running.push({ close: () => socket.disconnect() });
    await received(socket, 'hello'); // The client gets the offset that recovers its state with an event.
    const denied = received(socket, 'connect_error');
    socket.io.reconnection(false);
    socket.io.engine.close();
    const open = async () => (await connect('socket.io', port, '127.0.0.1')) === 'open';
    await until(open, 'the permit'); // Another client takes it before the first one is back.
    socket.connect();
    expect(await denied).toMatchObject({ data: { 'violated-policies': ['open'] } });
    for (const other of running.splice(2)) await other.close();
    const retry = () =>
      new Promise<boolean>((resolve) => {
        socket.once('connect', () => resolve(true)).once('connect_error', () => resolve(false));
        socket.connect();
      });
    await until(retry, 'the permit');
    expect(socket.recovered).toBe(true);
  });

  it.each([undefined, '/lobby'])(
    'recovered sockets of Socket.IO that skip the handshake stop the application: namespace %s',
    async (namespace) => {
      @WebSocketGateway({ connectionStateRecovery: {}, ...(namespace && { namespace }) })
      class Skipping {
        @RateLimit({ ...MINUTE, limit: 1 })
        handleConnection() {}
      }
      await expect(start('socket.io', Skipping)).rejects.toThrow(
        '@RateLimit on Skipping.handleConnection: connectionStateRecovery skips the handshake of recovered sockets; ' +
          'set connectionStateRecovery: { skipMiddlewares: false }',
      );
    },
  );
});
