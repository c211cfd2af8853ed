import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';

const MINUTES = 10;
const TICKS_PER_MINUTE = 300;

/** Returns what is served while one tenant sends all the time, and others send one request each, and no other. */
async function served(limit: number, newcomers: number) {
  let now = Date.UTC(2024, 0, 1);
  const store = new MemoryStore({ clock: () => now });
  const limiter = new RateLimiter({ store });
  const rule = { name: 'api', limit, window: '1m', algorithm: 'gcra', share: {} } as const;
  const counted = { steady: 0, asked: 0, allowed: 0 };
  let due = 0;
  for (let tick = 0, nth = 0; tick < (MINUTES + 1) * TICKS_PER_MINUTE; tick += 1) {
    now += 60_000 / TICKS_PER_MINUTE;
    const isCounted = tick >= TICKS_PER_MINUTE;
    while ((await limiter.consume(rule, 'steady')).allowed) if (isCounted) counted.steady += 1;
    due += newcomers / TICKS_PER_MINUTE;
    if (due < 1) continue;
    due -= 1;
    const { allowed } = await limiter.consume(rule, `tenant ${(nth += 1)}`);
    if (!isCounted) continue;
    counted.asked += 1;
    if (allowed) counted.allowed += 1;
  }
  await limiter.close();
  await store.close();
  return { steady: counted.steady / MINUTES, newcomers: counted.allowed / counted.asked };
}

describe('tenants that come for the first time, beside one that takes all it can', () => {
  // Max-min fairness serves every newcomer, and leaves the rest to the other. Beyond a hundred in ten windows, newcomers
  // have the part of one tenant.
  it.each([
    [60, 10],
    [60, 30],
    [100, 45],
    [600, 30],
  ])(
    'are served from a limit of %i a minute if they are %i a minute, and the other gets the rest',
    async (limit, newcomers) => {
      const { steady, newcomers: share } = await served(limit, newcomers);
      expect(share).toBeGreaterThan(0.99);
      expect(steady).toBeGreaterThan(0.85 * (limit - newcomers));
      expect(steady).toBeLessThan(1.02 * (limit - newcomers));
    },
  );

  it('share the part of one tenant if they are more than the places, and leave the other its part', async () => {
    const { steady, newcomers } = await served(60, 90);
    expect(steady).toBeGreaterThan(20);
    expect(newcomers).toBeGreaterThan(28 / 90);
  });
});
