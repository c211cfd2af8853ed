import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

const IN_PROCESS = [
  ...['nothing', 'async-guard', 'turn-guard', 'bare-refused'],
  ...['ours-memory', 'throttler-memory', 'ours-refused-memory'],
];
const ON_REDIS = [
  ...['bare-redis', 'ours-redis-1', 'ours-redis-3', 'reserved-redis-3'],
  ...['throttler-redis-1', 'throttler-redis-3'],
];
const REFUSED = ['ours-refused', 'throttler-refused'];

// The compared packages are installed with `npm ci --prefix bench`, not with this package.
const canCompare = existsSync(pathOf('bench/node_modules'));

// A reader who doubts the cost of a request can run the benchmark.
describe('the HTTP bench, quickly', () => {
  (canCompare ? it : it.skip)(
    'the HTTP benchmark has figures for every limiter on Fastify',
    async () => {
      const measured = await rowsOn('fastify');
      expect(measured.toSorted()).toEqual([...IN_PROCESS, ...ON_REDIS, ...REFUSED].toSorted());
    },
    120_000,
  );

  (canCompare ? it : it.skip)(
    'the HTTP benchmark has figures for limiters on Express beside no limiter',
    async () => {
      const named = ['ours-redis-1', 'ours-refused', 'express-rate-limit'];
      const measured = await rowsOn('express', '--only', named.join(','));
      expect(measured.toSorted()).toEqual(['nothing', ...named].toSorted());
    },
    120_000,
  );

  (canCompare ? it : it.skip)(
    'the HTTP benchmark prints its targets with the ratio seen, and pass or miss',
    async () => {
      const named = 'ours-redis-1,bare-redis,ours-refused,bare-refused';
      const printed = await runScript('bench/http.mjs', '--quick', '--platform', 'fastify', '--only', named);
      const lines = printed.split('\n').filter((line) => /\| (pass|miss) +\|$/.test(line));
      expect(lines).toHaveLength(3);
    },
    120_000,
  );

  it('the HTTP benchmark lists what it can measure when it does not know a name', async () => {
    await expect(runScript('bench/http.mjs', '--only', 'ours')).rejects.toThrow(
      'got ours; allowed: nothing, ',
    );
  });
});

/** Returns the names of the rows, and expects that each has its figures. */
async function rowsOn(platform: string, ...args: string[]): Promise<string[]> {
  const printed = await runScript('bench/http.mjs', '--quick', '--json', '--platform', platform, ...args);
  const { machine, rows } = JSON.parse(printed);
  expect(machine).toEqual(expect.objectContaining({ node: process.versions.node }));
  for (const row of rows) {
    expect(row).toEqual(expect.objectContaining({ platform, title: expect.any(String) }));
    const figures = ['appMicros', 'perSecond', 'share', 'p50', 'p99', 'steadyMicros', 'steadyP50'];
    const isInProcess = IN_PROCESS.includes(row.name);
    const wrong = [...figures, ...(isInProcess ? [] : ['serverMicros'])].filter((name) => !(row[name] > 0));
    expect({ row, wrong }).toEqual({ row, wrong: [] });
  }
  return rows.map(({ name }: { name: string }) => name);
}
