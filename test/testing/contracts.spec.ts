import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/index.js';
import { RedisStore } from '../../lib/redis.js';
import { storeContract } from '../../lib/store.js';
import { redisUrl } from '../support/redis/shared-redis.js';

describe('a memory store', () => {
  storeContract({ it, open: (clock) => new MemoryStore({ clock }) });
});

describe('a Redis store', () => {
  const patient = { timeout: 10_000, connectTimeout: 30_000 };
  storeContract({ it, open: (clock) => RedisStore.open({ redis: redisUrl(), clock, ...patient }) });
});

describe('the contract of a store', () => {
  /** Runs the defined tests, and returns the titles of those that fail. */
  async function failing(
    define: (it: (title: string, test: () => unknown) => void) => void,
  ): Promise<string[]> {
    const tests: [string, () => unknown][] = [];
    define((title, test) => tests.push([title, test]));
    const titles: string[] = [];
    for (const [title, test] of tests)
      await Promise.resolve()
        .then(test)
        .catch(() => titles.push(title));
    return titles;
  }

  it('fails for a store that forgets blocks', async () => {
    class Forgetful extends MemoryStore {
      override async block(): Promise<boolean> {
        return false;
      }
    }
    const titles = await failing((each) =>
      storeContract({ it: each, open: (clock) => new Forgetful({ clock }) }),
    );
    expect(titles).toEqual(['blocks, and allows again when the block ends']);
  });
});
