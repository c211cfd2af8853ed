import { describe, expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { tableOf } from '../readme/tables.js';
import { runScript } from './run-script.js';

const PAGE = 'docs/performance.md';

// An operator plans servers with these figures.
describe('the capacity planning of docs/performance.md', () => {
  it('the table of a million decisions per second is what the simulation prints', async () => {
    const { rows, table } = JSON.parse(await runScript('bench/capacity.mjs', '--json', '--table'));
    expect(textOf(PAGE)).toContain(`<!-- bench:capacity -->\n\n${table}\n`);
    for (const { p50, p99, p999, worst, mean } of rows) {
      expect([0 < p50, p50 <= p99, p99 <= p999, mean <= worst, worst <= 1]).not.toContain(false);
    }
  }, 600_000);

  it('the memory of 10^8 subjects follows from the measured bytes of a key', () => {
    const measured = tableOf(PAGE, 'keys of');
    for (const row of tableOf(PAGE, 'one rule of')) {
      const [algorithm, requests = '1'] = row['one rule of']!.split(/, | requests?$/);
      const found = measured.find((each) => each['keys of'] === algorithm && each['requests'] === requests);
      const bytes = Number(found!['bytes']!.replace(',', ''));
      expect(row).toEqual({
        'one rule of': row['one rule of'],
        'bytes of a key': bytes.toLocaleString('en-US'),
        '10^6 subjects': `${bytes.toLocaleString('en-US')} MB`,
        '10^8 subjects': `${(bytes / 10).toFixed(1)} GB`,
        'on each of 12 shards': `${(bytes / 120).toFixed(2)} GB`,
      });
    }
  });
});
