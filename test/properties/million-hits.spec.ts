import { expect, it } from '@jest/globals';
import { leakyBucket } from '../../lib/algorithms/leaky-bucket/leaky-bucket.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { STEADY_PACES } from '../contract/steady-paces.js';
import { Reference } from '../support/reference.js';
import '../../lib/algorithms/registry.js';

const PERMITS = 1_000_000;

/** A current time in microseconds, at which a double has two bits left for fractions; a multiple of 7 s. */
const ORIGIN = 1_700_000_043_000_000;

it.each(STEADY_PACES)(
  '$rule.algorithm at $pace does not drift by a microsecond over a million permits',
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

it('leaky-bucket delays the last of a million queued permits for exactly the time that the others take', () => {
  const queue = new Reference(leakyBucket, { limit: 3, window: 7e6, queue: PERMITS });
  let off = 0;
  for (let hit = 0; hit <= PERMITS; hit++) {
    if (queue.hit(0, 1).delay !== Math.ceil((hit * 7e6) / 3)) off++;
  }
  expect(off).toBe(0);
}, 120_000);

it('a warm token-bucket does not drift by a microsecond over a million permits', () => {
  const warm = new Reference(tokenBucket, { limit: 3, window: 7e6, warmUp: '60s' });
  warm.hit(ORIGIN, 30, Infinity);
  const warmAt = warm.hit(ORIGIN, 1, Infinity).delay;
  let off = 0;
  for (let hit = 1; hit <= PERMITS; hit++) {
    if (warm.hit(ORIGIN, 1, Infinity).delay !== Math.ceil(warmAt + (hit * 7e6) / 3)) off++;
  }
  expect(off).toBe(0);
}, 120_000);
