import { describe, expect, it } from '@jest/globals';
import { Twin } from '../../../test/support/twin.js';
import { leakyBucket } from './leaky-bucket.js';

describe('leaky-bucket over a million hits', () => {
  it('does not drift by a microsecond at 3 per 7 s', () => {
    const twin = new Twin(leakyBucket, { limit: 3, window: 7e6, queue: 2 });
    twin.hit(0, 3);
    let early = 0;
    let late = 0;
    for (let hit = 1; hit <= 1_000_000; hit++) {
      const due = Math.ceil((hit * 7e6) / 3);
      if (twin.peek(due - 1, 1).allowed) early++;
      if (!twin.hit(due, 1).allowed) late++;
    }
    expect({ early, late }).toEqual({ early: 0, late: 0 });
  }, 120_000);

  it('holds the last of a million in the queue back for exactly as long as it takes, at 3 per 7 s', () => {
    const twin = new Twin(leakyBucket, { limit: 3, window: 7e6, queue: 1_000_000 });
    let off = 0;
    for (let hit = 0; hit <= 1_000_000; hit++) {
      if (twin.hit(0, 1).delay !== Math.ceil((hit * 7e6) / 3)) off++;
    }
    expect(off).toBe(0);
  }, 120_000);

  it('lets one go each microsecond at 1,000,000 per second', () => {
    const twin = new Twin(leakyBucket, { limit: 1_000_000, window: 1e6, queue: 0 });
    let refused = 0;
    let twice = 0;
    for (let hit = 0; hit < 1_000_000; hit++) {
      if (!twin.hit(hit, 1).allowed) refused++;
      if (twin.hit(hit, 1).allowed) twice++;
    }
    expect({ refused, twice }).toEqual({ refused: 0, twice: 0 });
  }, 120_000);
});
