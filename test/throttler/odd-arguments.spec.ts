import { describe, expect, it } from '@jest/globals';
import { RateLimitThrottlerStorage } from '../../lib/throttler.js';
import { runScript } from '../docs/run-script.js';

const MISSING = undefined as unknown as string;

describe('RateLimitThrottlerStorage.increment', () => {
  it.each([1e12, Infinity, 1.5, 0.5, 0])(
    "answers a limit of %d as throttler's own storage does",
    async (limit) => {
      const [own] = JSON.parse(await runScript('test/throttler/odd-arguments.mjs', String(limit)));
      const storage = new RateLimitThrottlerStorage();
      const hit = () => storage.increment('ann', 10_000, limit, 10_000, 'default');
      expect([await hit(), await hit(), await hit()]).toMatchObject(own);
      await storage.onApplicationShutdown();
    },
  );

  it.each([
    { ttl: 0, problem: 'ttl: got 0: to allow every request, use skipIf; allowed: milliseconds above 0' },
    { ttl: -1, problem: 'ttl: got -1; allowed: milliseconds above 0, up to 366 days' },
    { ttl: NaN, problem: 'ttl: got NaN; allowed: milliseconds above 0' },
    { ttl: Infinity, problem: 'ttl: got Infinity; allowed: milliseconds above 0, up to 366 days' },
    { limit: -1, problem: 'limit: got -1: to deny every request, write 0; allowed: a number from 0' },
    { limit: NaN, problem: 'limit: got NaN; allowed: a number from 0' },
    { block: Infinity, problem: 'blockDuration: got Infinity: the longest block is 31622400000' },
    { name: MISSING, isMissing: true, problem: 'throttlerName: missing; allowed: 1 to 64 printable' },
    { name: '', problem: 'throttlerName: got ""; allowed: 1 to 64 printable ASCII characters' },
  ])('rejects with the message "$problem"', async ({ problem, isMissing, ...given }) => {
    const { ttl = 10_000, limit = 2, block = 10_000 } = given;
    const name = isMissing ? MISSING : (given.name ?? 'default');
    const storage = new RateLimitThrottlerStorage();
    await expect(storage.increment('ann', ttl, limit, block, name)).rejects.toThrow(problem);
    await storage.onApplicationShutdown();
  });
});
