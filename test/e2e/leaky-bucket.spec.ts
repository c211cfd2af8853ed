import type { Server } from 'node:http';
import { Controller, Get, Param } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, RateLimitService, type Decision } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { askAndWait, type RawClient } from '../support/raw-client.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

/** One request every 50 ms. */
const SEARCH = { algorithm: 'leaky-bucket', window: '1s', limit: 20, scope: 'shared' } as const;
/** One request per hour: a request behind another one waits longer than any test. */
const REPORT = { algorithm: 'leaky-bucket', window: '1h', limit: 1, queue: 9, scope: 'shared' } as const;

const HOUR = 3_600_000;

/** The requests that have reached their handler. */
let served: string[];
let clients: RawClient[];

@Controller()
class Routes {
  @Get(':nth')
  get(@Param('nth') nth: string) {
    served.push(nth);
  }
}

beforeEach(() => {
  served = [];
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.hangUp();
  await closeApps();
});

describe.each(SETUPS)('requests in a leaky bucket, on $framework with $kind', ({ framework, kind }) => {
  async function start(
    rule: NamedRule,
    { time = new VirtualTime(), more = {} }: { time?: VirtualTime; more?: Record<string, NamedRule> } = {},
  ) {
    const decisions: Decision[] = [];
    const limits = RateLimitModule.forRoot({
      rules: { queue: rule, ...more },
      prefix: uniquePrefix(),
    });
    const metadata = { imports: [limits], controllers: [Routes] };
    const app = await startApp(metadata, { framework, store: virtualStore(kind, time) });
    const service = app.app.get(RateLimitService);
    service.events.on('decision', ({ decision, context }) => context && decisions.push(decision));

    async function nextDelay(): Promise<number> {
      const nth = decisions.length;
      await until(() => decisions.length > nth, 'the request to be decided');
      return decisions[nth]!.delayMs;
    }
    return {
      ...app,
      decisions,
      /** Sends a request. Resolves when its delay is decided. */
      async ask(path: string) {
        const delay = nextDelay();
        const answer = app.get(path);
        return { delayMs: await delay, answer };
      },
      /** The same for a client that can disconnect. */
      async askRaw(path: string) {
        const delay = nextDelay();
        const client = await askAndWait(app.port, path);
        clients.push(client);
        return { delayMs: await delay, hangUp: () => client.hangUp() };
      },
      service,
      /** Returns the number of connections to the server. */
      connections: () =>
        new Promise<number>((resolve) => {
          const server = app.app.getHttpServer() as Server;
          server.getConnections((_error, count) => resolve(count));
        }),
      /** Returns the length of the queue. */
      async queueMs() {
        return (await service.peek('queue', '127.0.0.1', { cost: 0 })).resetAfterMs;
      },
    };
  }

  it('requests in a leaky bucket are delayed until their turn and keep their order', async () => {
    const { ask, decisions } = await start(SEARCH);
    const answers = [];
    for (let nth = 1; nth <= 5; nth++) answers.push((await ask(`/${nth}`)).answer);
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    expect(decisions.map(({ delayMs }) => delayMs)).toEqual([0, 50, 100, 150, 200]);
    expect(served).toEqual(['1', '2', '3', '4', '5']);
  });

  it('a request is denied at once when the queue is full', async () => {
    const { ask, get } = await start({ ...SEARCH, queue: 2 });
    for (const delay of [0, 50, 100]) expect((await ask('/a')).delayMs).toBe(delay);
    const refused = await get('/b');
    expect(refused.status).toBe(429);
    expect(limitHeaders(refused)).toEqual({
      'ratelimit-policy': '"queue";q=3',
      ratelimit: '"queue";r=0;t=1',
      'retry-after': '1',
    });
    expect(JSON.parse(refused.body)).toMatchObject({
      detail: 'Rule "queue" allows 3 per 150 ms; try again in 1 s.',
      retryAfterMs: 50,
    });
  });

  it('a request is denied at once when its delay would exceed maxWait', async () => {
    const time = new VirtualTime();
    const { ask, get } = await start({ ...SEARCH, maxWait: '60ms' as const }, { time });
    for (const delay of [0, 50]) expect((await ask('/a')).delayMs).toBe(delay);
    expect(JSON.parse((await get('/b')).body)).toMatchObject({ status: 429, retryAfterMs: 40 });
    time.advance(40);
    expect((await ask('/c')).delayMs).toBe(60);
  });

  it('as many waiting requests as delayAfter states are not delayed', async () => {
    const { ask, get } = await start({ ...SEARCH, queue: 4, delayAfter: 2 });
    for (const delay of [0, 0, 0, 50, 100]) expect((await ask('/a')).delayMs).toBe(delay);
    expect((await get('/b')).status).toBe(429);
  });

  it('a delayed request of a disconnected client has no timer and never reaches its handler', async () => {
    const { get, askRaw, logs } = await start(REPORT);
    expect((await get('/first')).status).toBe(200);
    const before = timers();
    const held = await askRaw('/held');
    expect(held.delayMs).toBe(HOUR);
    await until(() => timers() === before + 1, 'a timer that holds the request back');
    held.hangUp();
    await until(() => timers() === before, 'the timer to be gone');
    expect(served).toEqual(['first']);
    expect(logs.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('a place is freed when a client disconnects with no request behind it', async () => {
    const { get, askRaw, queueMs } = await start(REPORT);
    await get('/first');
    expect(await queueMs()).toBe(HOUR);
    const held = await askRaw('/held');
    expect(await queueMs()).toBe(2 * HOUR);
    held.hangUp();
    await until(async () => (await queueMs()) === HOUR, 'the place to be given back');
    expect((await askRaw('/next')).delayMs).toBe(HOUR);
  });

  it('the next client waits as if 60 clients that disconnected, the oldest first, had not come', async () => {
    const { askRaw, decisions, queueMs, connections } = await start({ ...REPORT, limit: 5, queue: 50 });
    const gone = [];
    for (let nth = 1; nth <= 60; nth++) gone.push(await askRaw(`/${nth}`));
    expect(decisions.filter(({ delayMs }) => delayMs > 0)).toHaveLength(50);
    expect(await queueMs()).toBe((51 * HOUR) / 5);
    for (const client of gone) {
      const open = await connections();
      client.hangUp();
      await until(async () => (await connections()) === open - 1, 'the connection to be closed');
    }
    await until(async () => (await queueMs()) === HOUR / 5, 'the places to be given back');
    expect((await askRaw('/next')).delayMs).toBe(HOUR / 5);
    expect(served).toEqual(['1']);
  });

  it('a place is kept when a client disconnects with another request behind it, until that leaves as well', async () => {
    const { get, askRaw, queueMs } = await start(REPORT);
    await get('/first');
    const before = timers();
    const gone = await askRaw('/gone');
    const behind = await askRaw('/behind');
    expect([gone.delayMs, behind.delayMs]).toEqual([HOUR, 2 * HOUR]);
    await until(() => timers() === before + 2, 'both to be held back');
    gone.hangUp();
    await until(() => timers() === before + 1, 'the first timer to be gone');
    expect(await queueMs()).toBe(3 * HOUR);
    behind.hangUp();
    await until(async () => (await queueMs()) === HOUR, 'both places to be given back');
  });

  it('a delayed request of a disconnected client still counts for the other rules', async () => {
    const daily = { window: '1d', limit: 9, algorithm: 'fixed-window', scope: 'shared' } as const;
    const { get, askRaw, queueMs, service } = await start(REPORT, { more: { daily } });
    await get('/first');
    (await askRaw('/held')).hangUp();
    await until(async () => (await queueMs()) === HOUR, 'the place to be given back');
    expect(await service.peek('daily', '127.0.0.1', { cost: 0 })).toMatchObject({ remaining: 7 });
  });

  it('pipelined requests are not delayed when the client disconnects', async () => {
    const { port, decisions, get } = await start({ ...REPORT, window: '10s' });
    await get('/first');
    const before = timers();
    const client = await askAndWait(port, '/held', '/behind');
    await until(() => decisions.length === 3 && timers() === before + 2, 'both to be held back');
    client.hangUp();
    await until(() => timers() === before, 'both timers to be gone');
  });

  it('a request can be delayed longer than a timer of Node can wait', async () => {
    const { get, askRaw } = await start({ ...REPORT, window: '30d' });
    await get('/first');
    expect((await askRaw('/held')).delayMs).toBe(720 * HOUR);
    await get('/missing/one'); // Every request without a delay has continued by then.
    expect(served).toEqual(['first']);
  });
});

/** Returns the timers that keep the process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}
