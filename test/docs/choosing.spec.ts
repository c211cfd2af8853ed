import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { textOf } from '../readme/code-blocks.js';
import { tableOf } from '../readme/tables.js';
import { runScript } from './run-script.js';

const PAGE = 'docs/choosing.md';
const names = Object.keys(algorithms).toSorted();

// The page is compared with what the code does.
describe(PAGE, () => {
  it('docs/choosing.md links to every algorithm', () => {
    const [list = ''] = textOf(PAGE).split('\n## ');
    const targets = Array.from(list.matchAll(/\]\(algorithms\/([\w-]+)\.md\)/g), ([, name = '']) => name);
    expect([...new Set(targets)].toSorted()).toEqual(names);
  });

  it('docs/choosing.md compares every algorithm with all its options', () => {
    const rows = tableOf(PAGE, 'algorithm');
    const told = Object.fromEntries(rows.map((row) => [row['algorithm'], row['options']]));
    const options = Object.values(algorithms).map(({ name, options }) => [
      name,
      Object.keys(options).join(' '),
    ]);
    expect(told).toEqual(Object.fromEntries(options));
  });

  it('docs/choosing.md lists the cost of every algorithm', () => {
    const measured = tableOf(PAGE, 'cost of').map((row) => row['cost of']!.split(',')[0]);
    expect([...new Set(measured)].toSorted()).toEqual(names);
  });

  it('docs/choosing.md shows the picture that the script draws', async () => {
    expect(await runScript('scripts/draw-choosing.mjs', '--print')).toBe(textOf('docs/images/choosing.svg'));
  });

  it('docs/choosing.md lists the errors that the benchmark measures', async () => {
    const { rows } = JSON.parse(await runScript('bench/counter-error.mjs', '--json'));
    const percent = (share: number, digits: number) => `${(share * 100).toFixed(digits)} %`;
    for (const row of rows) {
      const told = (title: string) =>
        tableOf(PAGE, title).find((each) => each[title] === row.rule)?.[row.traffic];
      expect({
        ...row,
        mostInAnyWindow: told('most in any window'),
        letIn: told('allowed, compared with the log'),
        otherwise: told('decided differently from the log'),
      }).toEqual({
        ...row,
        mostInAnyWindow: percent(row.mostInAnyWindow, 0),
        letIn: percent(row.letIn, 0),
        otherwise: percent(row.otherwise, 1),
      });
    }
  }, 120_000);
});
