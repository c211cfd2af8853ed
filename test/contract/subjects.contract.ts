import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import type { Bench } from './limiter-bench.js';
import { STRANGE_SUBJECTS } from './strange-subjects.js';

const rules: readonly Rule[] = [
  { name: 'log', algorithm: 'sliding-window-log', limit: 2, window: '1m' },
  { name: 'gcra', algorithm: 'gcra', limit: 2, window: '1m' },
];

export function subjectsContract(bench: () => Bench): void {
  describe('strange subjects', () => {
    it.each(STRANGE_SUBJECTS)('limits %s like any other', async (_, subject) => {
      const { limiter } = bench();
      const hit = async () => (await limiter.consume(rules, subject)).allowed;
      expect([await hit(), await hit(), await hit()]).toEqual([true, true, false]);
      await limiter.reset(rules, subject);
      expect(await hit()).toBe(true);
    });

    it('never gives one the counter of another', async () => {
      const { limiter } = bench();
      for (const [what, subject] of STRANGE_SUBJECTS) {
        expect([what, (await limiter.consume(rules, subject, { cost: 2 })).allowed]).toEqual([what, true]);
      }
      for (const [what, subject] of STRANGE_SUBJECTS) {
        expect([what, (await limiter.consume(rules, subject)).allowed]).toEqual([what, false]);
      }
    });
  });
}
