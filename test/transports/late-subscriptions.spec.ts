import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { afterEach, describe, expect, it } from '@jest/globals';
import { PubSub } from 'graphql-subscriptions';
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

/** Subscribes until a subscription is not denied, and returns it while its resolver runs. */
async function admitted<Stream extends { errors: unknown[] }>(subscribe: () => Stream): Promise<Stream> {
  const streams: Stream[] = [];
  await until(async () => {
    const stream = subscribe();
    streams.push(stream);
    await until(() => late.gate.inside === 1 || stream.errors.length > 0, 'a resolver or a denial');
    return stream.errors.length === 0;
  }, 'the permit');
  return streams.at(-1)!;
}
