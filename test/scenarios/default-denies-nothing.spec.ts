import { expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { scenario } from './scenario.js';

const MINUTE = 60_000;
const LIMITS = Array.from({ length: 100 }, (_, index) => index + 1);

scenario('a client that keeps to the limit of a rule without an algorithm', (fresh) => {
  it('the default denies nothing at limits of 1 to 100 to a client that spaces its requests or sends all of them each minute', async () => {
    const admitted: [limit: number, paced: number, atOnce: number][] = [];
    for (const limit of LIMITS) {
      const { admittedOf, goTo } = fresh();
      const rule: Rule = { limit, window: '1m' };
      let [paced, atOnce] = [0, 0];
      for (let hit = 0; hit <= limit; hit++) {
        goTo(Math.ceil((hit * MINUTE) / limit));
        paced += await admittedOf(1, rule, 'paced');
      }
      for (const at of [0, MINUTE, 2 * MINUTE]) {
        goTo(at);
        atOnce += await admittedOf(limit, rule, 'at once');
      }
      admitted.push([limit, paced, atOnce]);
    }
    expect(admitted).toEqual(LIMITS.map((limit) => [limit, limit + 1, 3 * limit]));
  }, 240_000);
});
