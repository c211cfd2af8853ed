import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterEach, describe, expect, it } from '@jest/globals';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { RateLimit, RateLimitEvents } from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import { ADAPTERS, startGateway, type GatewayClient } from './gateway-app.js';

type App = Awaited<ReturnType<typeof startGateway>>;

const running = new Set<App>();

async function start(...given: Parameters<typeof startGateway>): Promise<App> {
  const app = await startGateway(...given);
  running.add(app);
  return app;
}

afterEach(async () => {
  for (const app of running) await app.close();
  running.clear();
});

/** Payloads of every type. Both servers accept the longest. */
const PAYLOADS: readonly unknown[] = [
  null,
  undefined,
  0,
  true,
  '',
  '\u0000\ud800',
  [],
  [null, [null]],
  {},
  { event: 'free', data: null },
  { then: 'now', toJSON: null, getStatus: 200 },
  JSON.parse('{"__proto__":{"status":200},"constructor":{"prototype":null}}'),
  Buffer.from([0, 255, 128]),
  'x'.repeat(900_000),
  Array(50_000).fill(null),
];

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'exception',
  '',
  ' say',
  'say\n',
];

const FRAMES = [
  '',
  '{',
  'null',
  '[]',
  '"say"',
  '{"event":null}',
  '{"event":{}}',
  '{"event":["say"]}',
  '{"__proto__":{"event":"say"}}',
  Buffer.from([0, 255, 128]),
  Buffer.alloc(1_000_000),
];

const kinds = ({ received }: GatewayClient, kind: string) =>
  received.filter(([event]) => event === kind).length;

@WebSocketGateway()
class Oddities {
  @RateLimit({ name: 'odd', window: '1m', limit: 1, algorithm: 'fixed-window' })
  @SubscribeMessage('__proto__')
  odd() {
    return { event: 'said', data: 'odd' };
  }

  @SubscribeMessage('free')
  free() {
    return { event: 'freed', data: '' };
  }
}

/** More than what waits for a client that does not read, and than the buffers of the system. */
const LONG = 'x'.repeat(20_000_000);

@WebSocketGateway()
class Library {
  reads = 0;

  @SubscribeMessage('read')
  read() {
    this.reads += 1;
    return { event: 'text', data: LONG };
  }

  @RateLimit({ name: 'say', window: '1m', limit: 1, algorithm: 'fixed-window' })
  @SubscribeMessage('say')
  say() {}

  @SubscribeMessage('free')
  free() {
    return { event: 'freed', data: '' };
  }
}

/** Whether the server still answers this client. */
async function expectAnswer(client: GatewayClient): Promise<void> {
  const before = kinds(client, 'freed');
  client.send('free');
  await until(() => kinds(client, 'freed') > before, 'an answer');
}

describe.each(ADAPTERS)('a hostile client of %s', (adapter) => {
  it('is allowed up to its limit, and every denied message is answered, whatever the payloads are', async () => {
    const app = await start(adapter);
    const client = await app.connect();
    for (const payload of [...PAYLOADS, ...PAYLOADS]) client.send('say', payload);
    await until(() => client.received.length === 2 * PAYLOADS.length, 'all answers');
    expect([kinds(client, 'said'), kinds(client, 'exception')]).toEqual([2, 2 * PAYLOADS.length - 2]);
    await expectAnswer(client);
  });

  it('is answered 5,000 times if it sends as many messages at once, and is allowed two of them', async () => {
    const app = await start(adapter);
    const client = await app.connect();
    for (let nth = 0; nth < 5000; nth++) client.send('say', nth);
    await until(() => client.received.length === 5000, 'all answers', 60_000);
    expect([kinds(client, 'said'), kinds(client, 'exception')]).toEqual([2, 4998]);
    const other = await app.connect();
    await expectAnswer(other);
  });

  it('is ignored where no handler has the name of its event, before and after a denial', async () => {
    const app = await start(adapter);
    const client = await app.connect();
    for (const name of NAMES) for (const payload of PAYLOADS) client.send(name, payload);
    await expectAnswer(client);
    for (let nth = 1; nth <= 3; nth++) client.send('say');
    await until(() => kinds(client, 'exception') === 1, 'the denial');
    for (const name of NAMES) client.send(name, null);
    await expectAnswer(client);
    expect([kinds(client, 'said'), kinds(client, 'exception')]).toEqual([2, 1]);
  });

  it('is limited by a handler whose event is named __proto__', async () => {
    const app = await start(adapter, {}, 'express', Oddities);
    const client = await app.connect();
    for (let nth = 1; nth <= 3; nth++) client.send('__proto__', null);
    await until(() => client.received.length === 3, 'all answers');
    expect([kinds(client, 'said'), kinds(client, 'exception')]).toEqual([1, 2]);
    await expectAnswer(client);
  });

  it('gets no denials while it does not read what it was sent', async () => {
    const { app, connect } = await start(adapter, {}, 'express', Library);
    let denied = 0;
    app.get(RateLimitEvents).on('decision', () => (denied += 1), { only: 'denied' });
    const client = await connect();
    client.socket.pause();
    client.send('read');
    await until(() => app.get(Library).reads === 1, 'the message');
    for (let nth = 1; nth <= 10; nth++) client.send('say');
    await until(() => denied === 9, 'all denials');
    client.socket.resume();
    await expectAnswer(client);
    expect([kinds(client, 'text'), kinds(client, 'exception')]).toEqual([1, 0]);
    client.send('say');
    await until(() => kinds(client, 'exception') === 1, 'the denial');
  });

  it('that leaves while it is denied harms no other client', async () => {
    const app = await start(adapter);
    const other = await app.connect();
    for (let round = 0; round < 20; round++) {
      const client = await app.connect();
      for (let nth = 0; nth < 50; nth++) client.send('say', nth);
      client.close();
    }
    await expectAnswer(other);
    other.send('say');
    await until(() => other.received.length === 2, 'an answer');
  });
});

describe('a hostile client of Socket.IO that waits for acknowledgements', () => {
  it('gets one for every denied message, whatever comes before it', async () => {
    const app = await start('socket.io');
    const socket = await app.connectSocketIo();
    expect(await socket.emitWithAck('ask', null)).toBe('answer');
    const payloads = PAYLOADS.map((payload) => [payload]);
    for (const given of [...payloads, [], [null, 1, 'two', {}], [Buffer.alloc(9), Buffer.alloc(9)]]) {
      expect(await socket.emitWithAck('ask', ...given)).toMatchObject({ status: 429 });
    }
  });

  it('is disconnected by Socket.IO if a message is too long, and the others are answered', async () => {
    const app = await start('socket.io');
    const socket = io(`http://127.0.0.1:${app.port}`, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
    });
    const gone = new Promise<void>((resolve) => socket.once('disconnect', () => resolve()));
    socket.emit('say', 'x'.repeat(2_000_000));
    await gone;
    await expectAnswer(await app.connect());
  });
});

it('a hostile client of ws that sends no messages of Nest gets no answer, and is answered afterwards', async () => {
  const app = await start('ws');
  const socket = new WebSocket(`ws://127.0.0.1:${app.port}`);
  const events: string[] = [];
  socket.on('message', (text: Buffer) => events.push((JSON.parse(String(text)) as { event: string }).event));
  await new Promise<void>((resolve) => socket.once('open', () => resolve()));
  for (const isDenied of [false, true]) {
    for (const frame of FRAMES) socket.send(frame);
    if (!isDenied) for (let nth = 1; nth <= 3; nth++) socket.send('{"event":"say","data":null}');
  }
  socket.send('{"event":"free"}');
  await until(() => events.includes('freed'), 'the last answer');
  await until(() => events.length === 4, 'all answers');
  expect(events.toSorted()).toEqual(['exception', 'freed', 'said', 'said']);
  socket.terminate();
});
