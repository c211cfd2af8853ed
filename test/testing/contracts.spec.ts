import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { MemoryStore } from '../../lib/index.js';
import { RedisStore } from '../../lib/redis.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule } from '../../lib/index.js';
import { algorithmContract, storeContract } from '../../lib/testing.js';
import { redisUrl } from '../support/redis/shared-redis.js';

describe('a memory store', () => {
  storeContract({ it, open: (clock) => new MemoryStore({ clock }) });
});

describe('a Redis store', () => {
  const patient = { timeout: 10_000, connectTimeout: 30_000 };
  storeContract({ it, open: (clock) => RedisStore.open({ redis: redisUrl(), clock, ...patient }) });
});

const names = Object.keys(algorithms).filter((name) => name !== 'concurrency');

describe.each(names)('the algorithm %s', (name) => {
  const { algorithm, parameters } = compileRule({ algorithm: name, limit: 5, window: '1m' } as AnyRule);
  algorithmContract({ it, algorithm, parameters });
});

describe('the contracts', () => {
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

  it('the contract of a store fails for a store that forgets blocks', async () => {
    class Forgetful extends MemoryStore {
      override async block(): Promise<void> {}
    }
    const titles = await failing((each) =>
      storeContract({ it: each, open: (clock) => new Forgetful({ clock }) }),
    );
    expect(titles).toEqual(['blocks, and allows again when the block ends']);
  });

  it('the contract of an algorithm fails for an algorithm whose retryAfter is too early', async () => {
    const { algorithm, parameters } = compileRule({ algorithm: 'gcra', limit: 5, window: '1m' });
    const early: typeof algorithm = {
      ...algorithm,
      step: (...request) => {
        const step = algorithm.step(...request);
        return step.retryAfter ? { ...step, retryAfter: step.retryAfter - 1 } : step;
      },
    };
    const titles = await failing((each) => algorithmContract({ it: each, algorithm: early, parameters }));
    expect(titles).toEqual([expect.stringContaining('retryAfter')]);
  });
});
