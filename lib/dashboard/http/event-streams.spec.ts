import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Snapshot } from '../snapshot.js';
import type { Snapshots } from '../snapshots.js';
import { EventStreams } from './event-streams.js';

const MOST_STREAMS = 20;

let server: Server;
let streams: EventStreams;
let opened: ServerResponse[];

beforeEach(async () => {
  let count = 0;
  // Each differs from the last one, so that soon more is sent than the kernel keeps for a client that does not read.
  const make = async () => ({ text: `${(count += 1)} ${'x'.repeat(900_000)}` }) as unknown as Snapshot;
  streams = new EventStreams({ make } as unknown as Snapshots);
  opened = [];
  server = createServer((_request, response) => {
    try {
      streams.open(response);
      opened.push(response);
    } catch {
      response.writeHead(503).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  jest.useRealTimers();
  streams.onModuleDestroy();
  server.closeAllConnections();
  server.close();
});

const port = () => (server.address() as AddressInfo).port;

/** Opens streams of clients that read nothing. */
async function openHung(number: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: number }, () => connect(port(), '127.0.0.1').pause());
  for (const socket of sockets)
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  while (opened.length < number) await new Promise(setImmediate);
  return sockets;
}

async function statusOfNext(): Promise<number> {
  const [answer] = (await once(get({ host: '127.0.0.1', port: port(), agent: false }), 'response')) as [
    IncomingMessage,
  ];
  answer.destroy();
  return answer.statusCode!;
}

/** Lets time pass for the streams; connections work as before. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await jest.advanceTimersByTimeAsync(1000);
}

describe('a client of the operations page that reads nothing', () => {
  it('frees its place when its stream ends after ten minutes, and loses its connection', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    const sockets = await openHung(MOST_STREAMS);
    expect(await statusOfNext()).toBe(503);
    await pass(600);
    expect(opened.map(({ writableEnded }) => writableEnded)).toEqual(sockets.map(() => true));
    expect(opened.map(({ writableFinished }) => writableFinished)).toEqual(sockets.map(() => false));
    expect(await statusOfNext()).toBe(200);
    await pass(5);
    expect(opened.slice(0, MOST_STREAMS).map(({ destroyed }) => destroyed)).toEqual(sockets.map(() => true));
  });
});
