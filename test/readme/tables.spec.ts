import { describe, expect, it } from '@jest/globals';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { membersOf, tableOf, type Row } from './tables.js';

const options = (...sources: [file: string, type: string][]) =>
  new Map(sources.flatMap(([file, type]) => [...membersOf(file, type)]));

const TABLES = {
  field: options(
    ['lib/nest/rules/route-rule.ts', 'CommonFields'],
    ['lib/nest/rules/route-rule.ts', 'RouteRuleFields'],
    ['lib/rules/rule.ts', 'Named'],
    ['lib/rules/rule.ts', 'SharedFields'],
    ['lib/rules/rule.ts', 'RuleBase'],
    ['lib/rules/rule.ts', 'Alerting'],
  )
    .set('algorithm', "'sliding-window-log'")
    .set('window', ''),
  option: options(['lib/nest/rate-limit.options.ts', 'RateLimitModuleOptions']),
  'extra option': options(['lib/nest/rate-limit.options.ts', 'RateLimitModuleExtras']),
};

const START = Date.UTC(2030, 0, 1);

/**
 * The time at which a sixth request is allowed, with a limit of 5 per minute and five requests at 0:59. Tries each
 * second.
 */
async function sixthRequest(rule: { algorithm: AlgorithmName; align?: 'clock' }): Promise<string> {
  let second = 59;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => START + second * 1000 }) });
  const fivePerMinute = { limit: 5, window: '1m', ...rule } as Parameters<RateLimiter['consume']>[0];
  await limiter.consume(fivePerMinute, 'ada', { cost: 5 });
  while (!(await limiter.peek(fivePerMinute, 'ada')).allowed) second++;
  return `${Math.floor(second / 60)}:${String(second % 60).padStart(2, '0')}`;
}

// The tables are compared with the source and with decisions of the limiter.
describe('the tables of README.md and docs/configuration.md', () => {
  it.each(Object.entries(TABLES))(
    'the tables name each %s and its default as in the source',
    (title, members) => {
      const rows = tableOf('docs/configuration.md', title);
      const names = rows.map((row) => row[title]);
      expect(names.toSorted()).toEqual([...members.keys()].toSorted());
      const wrong = rows.filter((row) => {
        const stated = members.get(row[title]!)!;
        return stated !== '' && !(row['default'] && stated.includes(row['default']));
      });
      expect(wrong).toEqual([]);
    },
  );

  const choices: Row[] = tableOf('README.md', 'algorithm');

  it('the table of algorithms lists every algorithm', () => {
    expect(choices.map(({ algorithm }) => algorithm)).toEqual(Object.keys(algorithms));
  });

  it.each(Object.entries(algorithms))('the tables name each option of %s', (algorithm, { options: own }) => {
    const rows = tableOf('docs/configuration.md', 'option of an algorithm').filter((row) =>
      row['belongs to']!.split(', ').includes(algorithm),
    );
    const names = Object.keys(own).filter((name) => name !== 'window');
    expect(rows.map((row) => row['option of an algorithm']).toSorted()).toEqual(names.toSorted());
  });

  const timed = choices.filter((row) => row['sixth request'] !== '');

  it.each(timed)('the table of algorithms states when $algorithm allows a sixth request', async (row) => {
    expect(await sixthRequest({ algorithm: row['algorithm'] as AlgorithmName })).toBe(row['sixth request']);
  });

  it('a fixed window aligned to the clock allows a sixth request at once', async () => {
    expect(await sixthRequest({ algorithm: 'fixed-window', align: 'clock' })).toBe('1:00');
  });
});
