import { expect, it } from '@jest/globals';
import type { Bench } from './limiter-bench.js';
import { STEADY_PACES } from './steady-paces.js';

const HITS = 1500;
const AT_ONCE = 250;

/** Milliseconds from the start of the bench to an instant that is a multiple of 7 s. */
const ORIGIN_MS = 3000;

export function steadyPaceContract(bench: () => Bench): void {
  // test/properties/million-hits.spec.ts plays a million hits on the reference implementations.
  it.each(STEADY_PACES)(
    '$rule.algorithm at $pace allows every hit of a client that is on time, and none a microsecond early',
    async ({ rule, cost, free, dueAt }) => {
      const { limiter, goTo } = bench();
      const ask = (at: number, permits: number) => {
        goTo(ORIGIN_MS + at / 1000);
        return permits > 0 ? limiter.consume(rule, 'ann', { cost: permits }) : limiter.peek(rule, 'ann');
      };
      const wrong: string[] = [];
      for (let first = 0; first < HITS; first += AT_ONCE) {
        const hits = Array.from({ length: AT_ONCE }, (_, index) => first + index).map(async (hit) => {
          const early = hit >= free ? ask(dueAt(hit) - 1, 0) : undefined;
          const onTime = ask(dueAt(hit), cost);
          if ((await early)?.allowed) wrong.push(`${hit}: early`);
          if (!(await onTime).allowed) wrong.push(`${hit}: refused`);
        });
        await Promise.all(hits);
      }
      expect(wrong).toEqual([]);
    },
  );
}
