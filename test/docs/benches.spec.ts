import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { hasRedisBinary } from '../support/redis/shared-redis.js';
import { runScript } from './run-script.js';

const names = Object.keys(algorithms);
const above0 = (value: unknown) => typeof value === 'number' && value > 0;

// Who wants to check a figure of the docs can run what measured it.
describe('the benches, quickly', () => {
  it('counter-error compares every window with the log', async () => {
    const { machine, rows } = JSON.parse(await runScript('bench/counter-error.mjs', '--quick', '--json'));
    expect(machine).toEqual(expect.objectContaining({ node: process.versions.node }));
    expect(rows.length).toBeGreaterThan(0);
    for (const { rule, otherwise, letIn, mostInAnyWindow } of rows) {
      expect(names).toContain(rule.split(',')[0]);
      expect(otherwise).toBeLessThan(1);
      expect([letIn, mostInAnyWindow].every(above0)).toBe(true);
      if (/log|cells/.test(rule)) expect(mostInAnyWindow).toBeLessThanOrEqual(1);
      if (/log/.test(rule)) expect([otherwise, letIn]).toEqual([0, 1]);
    }
  }, 120_000);

  (hasRedisBinary() ? it : it.skip)(
    'algorithm-cost measures every algorithm',
    async () => {
      const { machine, rows } = JSON.parse(await runScript('bench/algorithm-cost.mjs', '--quick', '--json'));
      expect(machine).toEqual(expect.objectContaining({ redis: expect.stringMatching(/^\d+\./) }));
      const measured = new Set(rows.map(({ rule }: { rule: string }) => rule.split(',')[0]));
      expect([...measured].toSorted()).toEqual(names.toSorted());
      for (const { allowed, denied, bytesOfOne, bytesWhenFull } of rows) {
        expect([allowed, denied, bytesOfOne, bytesWhenFull].every(above0)).toBe(true);
      }
    },
    120_000,
  );
});
