import {
  Injectable,
  UseGuards,
  type CanActivate,
  type INestApplication,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Ack, ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { concat, NEVER, of } from 'rxjs';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { startApp, type Framework } from '../support/nest-app.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;

@Injectable()
class Never implements CanActivate {
  canActivate() {
    return false;
  }
}

/** Where messages of gateways wait. */
export const room = { gate: new Gate(), piped: 0 };

class Slow implements PipeTransform {
  async transform(value: unknown) {
    await room.gate.pass();
    return value;
  }
}

@WebSocketGateway()
class Room {
  @RateLimit({ ...MINUTE, name: 'say', limit: 2 })
  @SubscribeMessage('say')
  say(@MessageBody() text: string, @ConnectedSocket() _client: unknown) {
    return { event: 'said', data: text };
  }

  @RateLimit({ ...MINUTE, name: 'ask', limit: 1 })
  @SubscribeMessage('ask')
  ask() {
    return 'answer';
  }

  @RateLimit({ ...MINUTE, name: 'ring', limit: 1 })
  @SubscribeMessage('ring')
  ring(@Ack() acknowledge: (text: string) => void) {
    acknowledge('rang');
  }

  @RateLimit({ ...MINUTE, name: 'login', limit: 1, count: 'failures' })
  @SubscribeMessage('login')
  login(@MessageBody() password: string) {
    if (password !== 'right') throw new Error('wrong password');
    return { event: 'welcome', data: 'in' };
  }

  @RateLimit({ name: 'slow', limit: 1, algorithm: 'concurrency' })
  @SubscribeMessage('slow')
  async slow() {
    await room.gate.pass();
    return { event: 'done', data: 'slow' };
  }

  /** Returns a query, as a query builder does: it runs when it is awaited. */
  @RateLimit({ name: 'query', limit: 1, algorithm: 'concurrency' })
  @SubscribeMessage('query')
  query(): PromiseLike<unknown> {
    return { then: (...done) => this.slow().then(...done) };
  }

  @RateLimit({ name: 'watch', limit: 1, algorithm: 'concurrency', scope: 'shared' })
  @SubscribeMessage('watch')
  watch() {
    return concat(of({ event: 'watched', data: '' }), NEVER);
  }

  @RateLimit({ name: 'watch', limit: 1, algorithm: 'concurrency', scope: 'shared' })
  @SubscribeMessage('piped')
  piped(@MessageBody(Slow) _text: string) {
    room.piped += 1;
  }

  @RateLimit({ name: 'held', limit: 1, algorithm: 'concurrency' })
  @RateLimit({ ...MINUTE, name: 'tried', limit: 3, count: 'failures' })
  @UseGuards(Never)
  @SubscribeMessage('closed')
  closed() {
    return { event: 'opened', data: 'never' };
  }

  @SubscribeMessage('free')
  free() {
    return { event: 'freed', data: 'free' };
  }
}

/** An event that a client has received. */
export type Received = readonly [event: string, data: unknown];

/** A client of a gateway, with what it has received. */
export interface GatewayClient {
  readonly received: Received[];
  /** The WebSocket that it uses. */
  readonly socket: WebSocket;
  send(event: string, data?: unknown): void;
  close(): void;
}

export const ADAPTERS = ['socket.io', 'ws'] as const;
export type Adapter = (typeof ADAPTERS)[number];

/** Whether Nest sends the errors of handlers and of other guards to a client: Nest 11 sends none to native sockets. */
export const answersErrors = (adapter: Adapter): boolean =>
  adapter === 'socket.io' || process.env['NEST_11'] === undefined;

/** Starts an application with a gateway. */
export async function startGateway(
  adapter: Adapter,
  limits: RateLimitModuleOptions = {},
  framework: Framework = 'express',
  gateway: Type = Room,
) {
  Object.assign(room, { gate: new Gate(), piped: 0 });
  const started = await startApp(
    { imports: [RateLimitModule.forRoot(limits)], providers: [gateway, Never] },
    {
      framework,
      trustProxy: true,
      configure: (app: INestApplication) => {
        if (adapter === 'ws') app.useWebSocketAdapter(new WsAdapter(app));
      },
    },
  );
  const clients: (() => void)[] = [];
  const url = `127.0.0.1:${started.port}`;

  async function connect(headers: Record<string, string> = {}): Promise<GatewayClient> {
    const client = await (adapter === 'ws' ? openNative(url, headers) : openSocketIo(url, headers));
    clients.push(() => client.close());
    return client;
  }

  /** Connects a client of Socket.IO, for acknowledgements. */
  async function connectSocketIo(): Promise<Socket> {
    const socket = io(`http://${url}`, { transports: ['websocket'], forceNew: true });
    clients.push(() => socket.disconnect());
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    return socket;
  }

  const close = async () => {
    room.gate.open();
    for (const disconnect of clients) disconnect();
    await started.close();
  };
  const from = (ip: string) => connect({ 'x-forwarded-for': ip });
  return { ...started, connect, connectSocketIo, from, close };
}

async function openNative(url: string, headers: Record<string, string>): Promise<GatewayClient> {
  const socket = new WebSocket(`ws://${url}`, { headers });
  const received: Received[] = [];
  socket.on('message', (message: Buffer) => {
    const { event, data } = JSON.parse(message.toString()) as { event: string; data: unknown };
    received.push([event, data]);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const send = (event: string, data: unknown = '') => socket.send(JSON.stringify({ event, data }));
  return { received, socket, send, close: () => socket.terminate() };
}

async function openSocketIo(url: string, extraHeaders: Record<string, string>): Promise<GatewayClient> {
  const socket = io(`http://${url}`, { transports: ['websocket'], forceNew: true, extraHeaders });
  const received: Received[] = [];
  socket.onAny((event: string, data: unknown) => received.push([event, data]));
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  const send = (event: string, data: unknown = '') => void socket.emit(event, data);
  const { ws } = socket.io.engine.transport as unknown as { readonly ws: WebSocket };
  return { received, socket: ws, send, close: () => socket.disconnect() };
}
