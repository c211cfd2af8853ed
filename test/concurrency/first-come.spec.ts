import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { Herd, type Place } from './herd.js';

const PROCESSES = 4;
const EACH = { hits: 20, inFlight: 5 };

// One permit every 3,333 1/3 microseconds.
const LIMIT = 3;
const WINDOW = 10_000;
const pace = { limit: LIMIT, window: '10ms' } as const;

describe(`${PROCESSES} processes that wait for places of one rule`, () => {
  let herd: Herd;

  beforeAll(() => {
    herd = new Herd(PROCESSES);
  });

  afterAll(() => herd.stop());

  describe.each<[string, Rule]>([
    ['token-bucket', { ...pace, algorithm: 'token-bucket', burst: 1 }],
    ['token-bucket that warms up', { ...pace, algorithm: 'token-bucket', warmUp: '50ms' }],
    ['gcra', { ...pace, algorithm: 'gcra', burst: 1 }],
    ['leaky-bucket', { ...pace, algorithm: 'leaky-bucket', queue: 0 }],
  ])('by %s', (_, rule) => {
    let places: Place[];

    beforeAll(async () => {
      places = await herd.acquire({ ...EACH, url: redisUrl(), prefix: uniquePrefix(), rules: [rule] });
    });

    it('all processes get a permit by acquire, in order of arrival', () => {
      expect(places).toHaveLength(PROCESSES * EACH.hits);
      const instants = places.map(({ placeAt }) => placeAt);
      expect(instants).toEqual([...new Set(instants)].sort((a, b) => a - b));
    });

    it('permits acquired by different processes are never closer together than the rate permits', () => {
      const tooClose: string[] = [];
      for (const [index, first] of places.entries()) {
        for (const [between, next] of places.slice(index + 1).entries()) {
          // Both instants are rounded up to a microsecond.
          const apart = next.placeAt - first.placeAt;
          if (apart < Math.floor(((between + 1) * WINDOW) / LIMIT)) tooClose.push(`${between + 1}: ${apart}`);
        }
      }
      expect(tooClose).toEqual([]);
    });

    it('acquire reports the wait and never returns before it ends, to the millisecond of a timer', () => {
      const told = places.map(({ delayMs }) => delayMs);
      expect(told).toEqual(places.map(({ givenAt, placeAt }) => Math.ceil((placeAt - givenAt) / 1000)));
      const early = places.filter(({ placeAt, wentAt }) => wentAt < placeAt - 1000);
      expect(early).toEqual([]);
    });
  });
});
