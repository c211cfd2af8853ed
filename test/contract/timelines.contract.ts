import { describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES } from '../../lib/rules/rule-fields.js';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';
import { COUNTED_WINDOWS } from './timelines/counted-windows.js';
import { PACES } from './timelines/paces.js';
import { SLIDING_WINDOWS } from './timelines/sliding-windows.js';

const TIMELINES = { ...COUNTED_WINDOWS, ...SLIDING_WINDOWS, ...PACES };

/** What each algorithm decides at each instant. Requests of concurrency have no window, see concurrency.contract.ts. */
export function timelinesContract(bench: () => Bench): void {
  describe.each(Object.entries(TIMELINES))('%s', (algorithm, { rule, cases }) => {
    it.each(cases.map(([title, ...steps]) => ({ title, steps })))('$title', async ({ steps }) => {
      const { ask } = bench();
      for (const [changes, timeline] of steps) {
        await expectTimeline(ask({ name: 'visits', algorithm, ...rule, ...changes } as Rule), timeline);
      }
    });
  });

  it('is stated for each algorithm of the registry', () => {
    const names = ALGORITHM_NAMES.filter((name) => name !== 'concurrency');
    expect(Object.keys(TIMELINES).toSorted()).toEqual(names.toSorted());
  });
}
