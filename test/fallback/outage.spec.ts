import { describe, expect, it } from '@jest/globals';
import { hasRedisBinary } from '../support/redis/shared-redis.js';
import { FAULTS, measure } from './measure-outage.mjs';

const LIMIT = 100;

// Docker gives the shared server alone.
(hasRedisBinary() ? describe : describe.skip)('four processes with a limit of 100, 40 of them used', () => {
  it.each(Object.keys(FAULTS))(
    'allow at most 100 on top of what Redis has counted while it is %s, and report the fallback',
    async (fault) => {
      const { redis, fallback, mostOfOne, isReported } = await measure(4, fault);
      expect(redis).toBeGreaterThanOrEqual(40);
      expect(redis).toBeLessThanOrEqual(LIMIT);
      expect(fallback).toBeLessThanOrEqual(LIMIT);
      expect(mostOfOne).toBeLessThanOrEqual(LIMIT / 4);
      expect(isReported).toBe(true);
    },
    120_000,
  );
});
