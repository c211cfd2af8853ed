import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { PubSub } from 'graphql-subscriptions';
import { WebSocket } from 'ws';
import { RateLimit } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { until } from '../support/redis/until.mjs';
import { GRAPHQL, startGraphql } from './graphql-app.js';

const late = { gate: new Gate(), pubsub: new PubSub() };

@Resolver()
class Late {
  @Query(() => String)
  any() {
    return 'any';
  }

  @RateLimit({ name: 'stream', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @Subscription(() => String)
  async ticks() {
    await late.gate.pass();
    return late.pubsub.asyncIterableIterator('ticks');
  }

  @RateLimit({ name: 'brief', limit: 1, algorithm: 'concurrency', by: 'everyone', maxWait: '20ms' })
  @Subscription(() => String)
  brief() {
    return late.pubsub.asyncIterableIterator('ticks');
  }
}

const running = new Set<{ close(): Promise<void> }>();

afterEach(async () => {
  late.gate.open();
  for (const app of running) await app.close();
  running.clear();
});

describe.each(GRAPHQL)('a subscription that its client ends before it has values, on $title', (setup) => {
  it('releases its permit as soon as its resolver has ended, while the client stays connected', async () => {
    late.gate = new Gate();
    const app = await startGraphql(setup, {}, Late);
    running.add(app);
    const client = app.connect();
    const subscribe = () => app.subscribe('subscription { ticks }', undefined, client);
    const ended = subscribe();
    await until(() => late.gate.inside === 1, 'the resolver to run');
    ended.stop();
    // The server has read the end before this.
    const denied = subscribe();
    await until(() => denied.errors.length > 0, 'the denial');
    expect(denied.codes()).toEqual(['TOO_MANY_REQUESTS']);
    late.gate.open();
    const next = await admitted(subscribe);
    late.gate.open();
    await until(async () => {
      await late.pubsub.publish('ticks', { ticks: 'tick' });
      return next.received.length > 0;
    }, 'a value');
    expect(ended.received).toEqual([]);
  });
});

describe.each(GRAPHQL)('a client that uses the id of a subscription again, on $title', (setup) => {
  it('releases all its permits when it disconnects', async () => {
    late.gate = new Gate();
    const app = await startGraphql(setup, { overrides: { stream: { limit: 2 } } }, Late);
    running.add(app);
    const socket = new WebSocket(`ws://127.0.0.1:${app.port}/graphql`, 'graphql-transport-ws');
    let values = 0;
    socket.on('message', (text: Buffer) => {
      const { type } = JSON.parse(text.toString()) as { type: string };
      if (type === 'next') values += 1;
      if (type === 'connection_ack')
        for (const message of [subscribe, { id: '1', type: 'complete' }, subscribe]) send(message);
    });
    const send = (message: object) => socket.send(JSON.stringify(message));
    const subscribe = { id: '1', type: 'subscribe', payload: { query: 'subscription { ticks }' } };
    socket.on('open', () => send({ type: 'connection_init' }));
    await until(() => late.gate.inside === 2, 'both resolvers to run');
    late.gate.open();
    await until(async () => {
      await late.pubsub.publish('ticks', { ticks: 'tick' });
      return values > 0;
    }, 'a value');
    socket.terminate();
    const first = await admitted(() => app.subscribe('subscription { ticks }'));
    const second = await admitted(() => app.subscribe('subscription { ticks }'), 2);
    expect([first.errors, second.errors]).toEqual([[], []]);
  });
});

describe.each(GRAPHQL)('a client whose subscriptions wait and are denied, on $title', (setup) => {
  it('leaves nothing of them on its connection, whatever their ids are', async () => {
    const app = await startGraphql(setup, {}, Late);
    running.add(app);
    const holder = app.subscribe('subscription { brief }');
    await until(async () => {
      await late.pubsub.publish('ticks', { brief: 'tick' });
      return holder.received.length > 0;
    }, 'the permit to be held');
    const socket = new WebSocket(`ws://127.0.0.1:${app.port}/graphql`, 'graphql-transport-ws');
    let isReady = false;
    let denied = 0;
    socket.on('message', (text: Buffer) => {
      const { type } = JSON.parse(text.toString()) as { type: string };
      if (type === 'connection_ack') isReady = true;
      if (type === 'error' || type === 'complete') denied += 1;
    });
    const send = (message: object) => socket.send(JSON.stringify(message));
    socket.on('open', () => send({ type: 'connection_init' }));
    await until(() => isReady, 'the connection');
    for (let nth = 1; nth <= 30; nth += 1) {
      send({ id: '1', type: 'subscribe', payload: { query: 'subscription { brief }' } });
      await until(() => denied === nth, 'the denial');
    }
    send({ type: 'ping' });
    await setTimeout(50);
    const aborts = jest.spyOn(AbortController.prototype, 'abort');
    try {
      socket.terminate();
      await until(() => aborts.mock.calls.length > 0, 'the end of the connection');
      await setTimeout(50);
      expect(aborts.mock.calls.length).toBeLessThan(5);
    } finally {
      aborts.mockRestore();
    }
  });
});

/** Subscribes until a subscription is not denied, and returns it while its resolver runs beside others. */
async function admitted<Stream extends { errors: unknown[] }>(
  subscribe: () => Stream,
  running = 1,
): Promise<Stream> {
  const streams: Stream[] = [];
  await until(async () => {
    const stream = subscribe();
    streams.push(stream);
    await until(() => late.gate.inside === running || stream.errors.length > 0, 'a resolver or a denial');
    return stream.errors.length === 0;
  }, 'the permit');
  return streams.at(-1)!;
}
