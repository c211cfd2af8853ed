import { Agent, get, request, type IncomingMessage, type Server } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

function open(port: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/rate-limits/events', agent: false }, resolve).on('error', reject);
  });
}

/** Reads a stream until its text matches. */
async function textUntil(stream: IncomingMessage, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (pattern.test(text)) return text;
  }
  throw new Error(`the stream ended: ${text}`);
}

describe.each(FRAMEWORKS)('the stream of the operations page on %s', (framework) => {
  it('sends a snapshot at once and after each second, with denials that happened meanwhile', async () => {
    const { port, login } = await startDashboard({ framework });
    const stream = await open(port);
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    await textUntil(stream, /\nevent: snapshot\ndata: \{.*\}\n\n/);
    while ((await login('203.0.113.7')).status !== 429);
    await textUntil(stream, /"subject":"2•••7","denied":1/);
    stream.destroy();
  });

  it('has at most 20 readers in a process, and room again when one has left', async () => {
    const { port } = await startDashboard({ framework });
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(port)));
    expect((await open(port)).statusCode).toBe(503);
    streams[0]!.destroy();
    let status: number | undefined;
    while (status !== 200) status = (await open(port)).statusCode;
  });

  it('keeps no place for requests of monitors by HEAD, whose connections stay open', async () => {
    const { port } = await startDashboard({ framework });
    const agent = new Agent({ keepAlive: true });
    const head = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const options = { host: '127.0.0.1', port, path: '/rate-limits/events', method: 'HEAD', agent };
        request(options, (response) => resolve(response.resume()))
          .on('error', reject)
          .end();
      });
    const answers = await Promise.all(Array.from({ length: 20 }, head));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
    expect(answers[0]!.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect((await open(port)).statusCode).toBe(200);
    agent.destroy();
  });

  it('keeps no place for a page that is closed while a guard checks its request', async () => {
    const asked: (() => void)[] = [];
    class SlowGuard {
      canActivate(): Promise<boolean> {
        return new Promise((resolve) => asked.push(() => resolve(true)));
      }
    }
    const { port, app } = await startDashboard({ framework, dashboard: { guards: [new SlowGuard()] } });
    const pages = Array.from({ length: 20 }, () => {
      const options = { host: '127.0.0.1', port, path: '/rate-limits/events', agent: false };
      return get(options).on('error', () => undefined);
    });
    await until(() => asked.length === 20, 'the guard to check all pages');
    const server = app.getHttpServer() as Server;
    const connections = () =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    for (const page of pages) page.destroy();
    await until(async () => (await connections()) === 0, 'all connections to be closed');
    for (const answer of asked.splice(0)) answer();
    const opened = open(port);
    await until(() => asked.length === 1, 'the guard to check one more page');
    asked[0]!();
    expect((await opened).statusCode).toBe(200);
  });

  it('ends when the application closes', async () => {
    const { port, close } = await startDashboard({ framework });
    const stream = await open(port);
    const ended = new Promise((resolve) => stream.on('end', resolve).resume());
    await close();
    await ended;
  });
});
