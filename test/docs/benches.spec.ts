import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { algorithms } from '../../lib/algorithms/registry.js';
import { pathOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

const names = Object.keys(algorithms);
const above0 = (value: unknown) => typeof value === 'number' && value > 0;
const quickly = async (name: string) => JSON.parse(await runScript(`bench/${name}.mjs`, '--quick', '--json'));

const inMemory = ['perSecond', 'clientMicros', 'p50', 'p99'];
const onRedis = [...inMemory, 'serverMicros'];

/** The columns of each benchmark besides the names. */
const FIGURES = {
  targets: ['ratio', 'rounds'],
  decisions: [...onRedis, 'times'],
  latency: [...onRedis, 'times'],
  'three-rules': [...onRedis, 'clientTimes', 'serverTimes'],
  reservations: [...onRedis, 'clientTimes', 'serverTimes'],
  refused: [...inMemory, 'times'], // Results from the memory of the process have no server time.
  'hot-key': [...onRedis, 'times'],
  memory: [...inMemory, 'times'],
  bytes: ['entries', 'bytes', 'bytesAnEntry'],
  'growth-rules': [...onRedis, 'rules'],
  'growth-subjects': [...onRedis, 'subjects'],
  'growth-in-flight': [...onRedis, 'inFlight'],
  'growth-limit': ['limit', 'scriptMicros'],
  'growth-processes': [...onRedis, 'processes'],
  'growth-cluster': [...onRedis, 'nodes'],
  'growth-connections': [...onRedis, 'connections'],
  heartbeats: ['processes', 'inARow', 'apart'],
  operations: ['client', 'server', 'heap'],
  soak: [...onRedis, 'minute', 'heap'],
};

// The compared packages are installed with `npm ci --prefix bench`, not with this package.
const canCompare = existsSync(pathOf('bench/node_modules'));

// A reader who wants to check a figure of the documentation can run its benchmark.
describe('the benches, quickly', () => {
  it('counter-error compares every window with the log', async () => {
    const { machine, rows } = await quickly('counter-error');
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

  (canCompare ? it : it.skip)(
    'obedient gives clients of this package nearly their limit',
    async () => {
      const { rows } = await quickly('obedient');
      expect(rows.length).toBeGreaterThan(6);
      for (const { limiter, spreads, atOnce, spreadsDenied, atOnceDenied } of rows) {
        if (!limiter.startsWith('this package')) continue;
        expect(Math.min(spreads, atOnce)).toBeGreaterThanOrEqual(0.87);
        expect(Math.max(spreadsDenied, atOnceDenied)).toBeLessThan(0.01);
      }
    },
    120_000,
  );

  it('algorithm-cost measures every algorithm', async () => {
    const { machine, rows } = await quickly('algorithm-cost');
    expect(machine).toEqual(expect.objectContaining({ redis: expect.stringMatching(/^\d+\./) }));
    const measured = new Set(rows.map(({ rule }: { rule: string }) => rule.split(',')[0]));
    expect([...measured].toSorted()).toEqual(names.toSorted());
    for (const { allowed, denied, bytesOfOne, bytesWhenFull } of rows) {
      expect([allowed, denied, bytesOfOne, bytesWhenFull].every(above0)).toBe(true);
    }
  }, 120_000);

  (canCompare ? it : it.skip).each(Object.entries(FIGURES))(
    'the benchmark %s produces figures and a chart',
    async (name, figures) => {
      const { machine, rows } = await quickly(name);
      expect(machine).toEqual(expect.objectContaining({ node: process.versions.node }));
      expect(rows.length).toBeGreaterThan(1);
      for (const row of rows) {
        expect({ row, wrong: figures.filter((figure) => !above0(row[figure])) }).toEqual({ row, wrong: [] });
      }
      const { CHARTS } = await import(pathOf('bench/charts.mjs'));
      if (name in CHARTS) expect(CHARTS[name](rows)).toMatch(/^<svg (?![^]*(NaN|Infinity))[^]*<\/svg>\n$/);
    },
    120_000,
  );

  (canCompare ? it : it.skip)(
    'run prints the table of each selected benchmark',
    async () => {
      const printed = await runScript('bench/run.mjs', 'bytes', '--quick');
      expect(printed).toMatch(/^\n## bytes\n\ncores \d+, .*\n\n\| keys of /);
    },
    120_000,
  );

  it('run lists the available benchmarks when it does not know one', async () => {
    await expect(runScript('bench/run.mjs', 'speed')).rejects.toThrow(
      'got speed; allowed: targets, decisions, latency',
    );
  });
});

describe('the page of benchmark results', () => {
  const write = async (page: string, texts: Record<string, string>): Promise<string> =>
    (await import(pathOf('bench/page.mjs'))).withTexts(page, texts);
  const PAGE = 'Before\n\n<!-- bench:one -->\n\nOld\n\n<!-- /bench -->\n\nAfter\n';

  it("only the text between a page's markers is replaced", async () => {
    expect(await write(PAGE, { one: '| $& |' })).toBe(PAGE.replace('Old', () => '| $& |'));
  });

  it('a page is not written unless every marker occurs exactly once', async () => {
    await expect(write(PAGE, { one: 'New', two: 'New' })).rejects.toThrow(
      /a line with each: <!-- bench:two -->/,
    );
    await expect(write(`<!-- bench:two -->\n${PAGE}`, { two: 'New' })).rejects.toThrow(/bench:two/);
  });
});
