import { expect, it } from '@jest/globals';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { STEADY_PACES } from './steady-paces.js';

const PERMITS = 1_000_000;

/** The epoch of today, in microseconds, where a double has two bits left for fractions; on the grid of 7 s. */
const ORIGIN = 1_700_000_043_000_000;

/** Windows, whose grid could drift; those that refill at a rate play their million in their own specs. */
const WINDOWS = STEADY_PACES.filter(({ rule: { algorithm } }) => algorithm!.includes('window'));

it.each(WINDOWS)(
  '$rule.algorithm at $pace drifts by nothing over a million permits: nobody is let in early or kept waiting',
  ({ rule, cost, free, dueAt }) => {
    const { algorithm, parameters } = compileRule(rule);
    const hits = PERMITS / Math.min(cost, 10);
    let state: unknown;
    let early = 0;
    let late = 0;
    for (let hit = 0; hit < hits; hit++) {
      const due = ORIGIN + dueAt(hit);
      if (hit >= free && algorithm.step(state, due - 1, 1, parameters).allowed) early++;
      const step = algorithm.step(state, due, cost, parameters);
      if (step.allowed) state = step.state;
      else late++;
    }
    expect({ early, late }).toEqual({ early: 0, late: 0 });
  },
  120_000,
);
