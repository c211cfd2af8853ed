import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Heartbeat, SharedStore } from '../../contracts/base-store.js';
import { Instances } from './instances.js';

/** Heartbeats by process, as stored in Redis. */
class Heartbeats {
  readonly ends = new Map<string, number>();

  heartbeat = async ({ instance, duration }: Heartbeat): Promise<number> => {
    if (duration === 0) this.ends.delete(instance);
    else this.ends.set(instance, Date.now() + duration / 1000);
    return [...this.ends.values()].filter((end) => end > Date.now()).length;
  };
}

describe('the number of processes', () => {
  let redis: Heartbeats;
  const started: Instances[] = [];

  beforeEach(() => {
    jest.useFakeTimers();
    redis = new Heartbeats();
  });
  afterEach(async () => {
    for (const instances of started.splice(0)) await instances.stop();
    jest.useRealTimers();
  });

  async function start(name: string): Promise<Instances> {
    const store = { heartbeat: redis.heartbeat } as unknown as SharedStore;
    const instances = new Instances(store, 'instances', { instance: name }, 1, () => undefined);
    instances.start();
    await instances.beat();
    started.push(instances);
    return instances;
  }

  it('has a process that starts within 5 s', async () => {
    const first = await start('a');
    await jest.advanceTimersByTimeAsync(5001);
    await start('b');
    await jest.advanceTimersByTimeAsync(5000);
    expect(first.count).toBe(2);
  });

  it('has no process that was killed after 30 s, and no lower count before its heartbeat has expired', async () => {
    const [first, killed] = [await start('a'), await start('b')];
    await jest.advanceTimersByTimeAsync(20_000);
    expect(first.count).toBe(2);
    await killed.stop();
    redis.ends.set('b', Date.now() + 15_000); // This process was killed, so it did not delete its heartbeat.
    await jest.advanceTimersByTimeAsync(14_999);
    expect(first.count).toBe(2);
    await jest.advanceTimersByTimeAsync(15_001);
    expect(first.count).toBe(1);
  });

  it('is not lower because Redis restarts without data', async () => {
    const first = await start('a');
    for (const name of ['b', 'c']) await start(name);
    await jest.advanceTimersByTimeAsync(20_000);
    redis.ends.clear();
    for (let second = 0; second < 30; second += 1) {
      await jest.advanceTimersByTimeAsync(1000);
      expect(first.count).toBe(3);
    }
  });
});
