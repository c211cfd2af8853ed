import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { StoreClient } from './connection.js';
import { Subscriber } from './subscriber.js';

const CHANNEL = 'rl:changes';

describe('a subscriber', () => {
  let client: EventEmitter;
  let subscriber: Subscriber;
  /** Ends the trial to publish. */
  let published: () => void;
  let reports: [isSubscribed: boolean, hasBegun: boolean][];

  beforeEach(() => {
    const done = async (): Promise<void> => undefined;
    const commands = { subscribe: done, unsubscribe: done, ping: done, disconnect: () => undefined };
    client = Object.assign(new EventEmitter(), { status: 'ready', ...commands });
    reports = [];
    subscriber = new Subscriber(client as unknown as StoreClient, new Map([[CHANNEL, true]]), {
      tryToPublish: () => new Promise<void>((resolve) => (published = resolve)),
      message: () => undefined,
      failed: () => undefined,
      changed: (_channels, hasBegun) => reports.push([subscriber.isSubscribed(CHANNEL), hasBegun]),
    });
    client.emit('ready');
  });

  afterEach(() => subscriber.close());

  it('reports when messages begin and stop to arrive, and no beginning to who subscribes again', async () => {
    published();
    await turn();
    const again = subscriber.subscribe(CHANNEL);
    published();
    await again;
    client.emit('close');
    expect(reports).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ]);
  });

  it('is not subscribed by a trial to publish that ends after its connection is closed', async () => {
    client.emit('close');
    published();
    await turn();
    expect(reports).toEqual([[false, false]]);
  });
});
