import { request } from 'node:http';
import type { ClientDuplexStream, ClientUnaryCall, ServerDuplexStream } from '@grpc/grpc-js';
import { Controller, type INestApplicationContext, type INestMicroservice } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall } from '@nestjs/microservices';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { BaseStore } from '../../lib/store.js';
import { Gate } from '../support/gate.js';
import { LogLines } from '../support/log-lines.js';
import { until } from '../support/redis/until.mjs';
import { ADAPTERS, room, startGateway } from './gateway-app.js';
import { desk, GRAPHQL, startGraphql } from './graphql-app.js';
import { closeGrpc, startGrpc } from './grpc-app.js';

const running: { close(): Promise<void> }[] = [];

afterEach(closeGrpc);
afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

const WAITS = { by: 'everyone', maxWait: '1m' } as const;

/** Follows the queue of an application: how many requests have joined it and left it. */
function queueOf(app: INestApplicationContext) {
  const { engine } = app.get(RateLimiter);
  const { base } = engine as unknown as { readonly base: BaseStore };
  const queue = { joined: 0, left: 0 };
  const { decide, adjust } = base;
  jest.spyOn(base, 'decide').mockImplementation((hits, options) => {
    const results = decide.call(base, hits, options);
    void Promise.resolve(results).then(
      (all) => (queue.joined += all.filter(({ delay }) => delay > 0).length),
    );
    return results;
  });
  jest.spyOn(base, 'adjust').mockImplementation((adjustments) => {
    const results = adjust.call(base, adjustments);
    void Promise.resolve(results).then((all) => (queue.left += all.filter((isLeft) => isLeft).length));
    return results;
  });
  return {
    isJoined: () => until(() => queue.joined > 0, 'a request to join the queue'),
    isLeft: () => until(() => queue.left > 0, 'the request to leave the queue'),
    queue,
  };
}

describe.each(ADAPTERS)('a client of %s that disconnects while its messages wait', (adapter) => {
  it('leaves the queue', async () => {
    const app = await startGateway(adapter, { overrides: { slow: WAITS } });
    running.push(app);
    const { isJoined, isLeft, queue } = queueOf(app.app);
    const [holder, gone] = [await app.connect(), await app.connect()];
    holder.send('slow');
    await until(() => room.gate.inside === 1, 'the first message');
    for (let nth = 0; nth < 20; nth++) gone.send('slow');
    await isJoined();
    await until(() => queue.joined >= 20, 'all messages to wait');
    gone.close();
    await isLeft();
    await until(() => queue.left === 20, 'all messages to leave');
    expect(room.gate.arrived).toBe(1);
  });
});

const calls = { gate: new Gate() };

@Controller()
class Depot {
  @RateLimit({ ...WAITS, name: 'slow', limit: 1, algorithm: 'concurrency' })
  @GrpcMethod('Depot', 'Slow')
  async slow() {
    await calls.gate.pass();
    return { total: 1 };
  }

  @RateLimit({ ...WAITS, name: 'chat', limit: 1, algorithm: 'concurrency' })
  @GrpcStreamCall('Depot', 'Chat')
  chat(call: ServerDuplexStream<object, object>) {
    void calls.gate.pass().then(() => call.end());
  }
}

interface Client {
  Slow(request: object, done: () => void): ClientUnaryCall;
  Chat(): ClientDuplexStream<object, object>;
}

describe.each<[string, (client: Client) => ClientUnaryCall | ClientDuplexStream<object, object>]>([
  ['@GrpcMethod', (client) => client.Slow({}, () => undefined)],
  ['@GrpcStreamCall', (client) => client.Chat().on('error', () => undefined)],
])('a client of gRPC that cancels its calls to %s while they wait', (_, begin) => {
  it('leaves the queue, and its calls are neither handled nor errors in the log', async () => {
    calls.gate = new Gate();
    const logs = new LogLines();
    let app!: INestMicroservice;
    const client = (await startGrpc(Depot, {}, (started) => (app = started))) as unknown as Client;
    app.useLogger(logs);
    const { queue } = queueOf(app);
    begin(client);
    await until(() => calls.gate.inside === 1, 'the first call');
    const waiting = Array.from({ length: 20 }, () => begin(client));
    await until(() => queue.joined >= 20, 'all calls to wait');
    for (const call of waiting) call.cancel();
    await until(() => queue.left === 20, 'all calls to leave');
    calls.gate.open();
    begin(client);
    await until(() => calls.gate.inside === 1, 'the next call');
    expect([calls.gate.arrived, logs.ours()]).toEqual([2, []]);
    calls.gate.open();
  });
});

describe.each(GRAPHQL)('a client of $title that disconnects while it waits', (setup) => {
  it('leaves the queue with all fields of its query', async () => {
    const app = await startGraphql(setup, { overrides: { slow: WAITS } });
    running.push(app);
    const { queue } = queueOf(app.app);
    const first = app.query('{ slow }');
    await until(() => desk.gate.inside === 1, 'the first query');
    const headers = { 'content-type': 'application/json' };
    const gone = request({ method: 'POST', port: app.port, path: '/graphql', headers });
    gone.on('error', () => undefined);
    const fields = Array.from({ length: 20 }, (_, nth) => `f${nth}: slow`).join(' ');
    gone.end(JSON.stringify({ query: `{ ${fields} }` }));
    await until(() => queue.joined >= 20, 'all fields to wait');
    gone.destroy();
    await until(() => queue.left === 20, 'all fields to leave');
    desk.gate.open();
    expect((await first).data).toEqual({ slow: 'done' });
    expect(desk.gate.arrived).toBe(1);
  });

  it('leaves the queue of a subscription', async () => {
    const app = await startGraphql(setup, { overrides: { stream: WAITS } });
    running.push(app);
    const { isJoined, isLeft } = queueOf(app.app);
    const subscribe = () => app.subscribe('subscription { ticks }');
    const first = subscribe();
    await until(async () => {
      await desk.pubsub.publish('ticks', { ticks: 'tick' });
      return first.received.length > 0;
    }, 'the first value');
    const gone = subscribe();
    await isJoined();
    gone.leave();
    await isLeft();
  });

  it('leaves the queue if it ends its subscription and stays connected', async () => {
    const app = await startGraphql(setup, { overrides: { stream: WAITS } });
    running.push(app);
    const { queue } = queueOf(app.app);
    const holder = app.subscribe('subscription { ticks }');
    await until(async () => {
      await desk.pubsub.publish('ticks', { ticks: 'tick' });
      return holder.received.length > 0;
    }, 'the first value');
    const client = app.connect();
    const [gone, next] = [1, 2].map(() => () => app.subscribe('subscription { ticks }', undefined, client));
    const ended = gone!();
    await until(() => queue.joined === 1, 'the first subscription to wait');
    const waiting = next!();
    await until(() => queue.joined === 2, 'the second subscription to wait');
    ended.stop();
    await until(() => queue.left === 1, 'the first subscription to leave');
    holder.stop();
    await until(async () => {
      await desk.pubsub.publish('ticks', { ticks: 'tick' });
      return waiting.received.length > 0;
    }, 'the second subscription to get the permit');
    expect([ended.received, waiting.errors]).toEqual([[], []]);
    waiting.stop();
    const another = app.subscribe('subscription { ticks }', undefined, client);
    await until(async () => {
      await desk.pubsub.publish('ticks', { ticks: 'tick' });
      return another.received.length > 0;
    }, 'the permit of a subscription that has ended');
  });

  it('leaves the queue with all subscriptions that it began and ended together', async () => {
    const app = await startGraphql(setup, { overrides: { stream: WAITS } });
    running.push(app);
    const { queue } = queueOf(app.app);
    const holder = app.subscribe('subscription { ticks }');
    await until(async () => {
      await desk.pubsub.publish('ticks', { ticks: 'tick' });
      return holder.received.length > 0;
    }, 'the first value');
    const client = app.connect();
    const waiting = Array.from({ length: 20 }, () =>
      app.subscribe('subscription { ticks }', undefined, client),
    );
    await until(() => queue.joined === 20, 'all subscriptions to wait');
    for (const { stop } of waiting) stop();
    await until(() => queue.left === 20, 'all subscriptions to leave');
  });
});
