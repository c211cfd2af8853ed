import { describe, expect, it } from '@jest/globals';
import { Collector } from './collector.js';
import { readReport, reportOf } from './process-report.js';

describe('the report of a process', () => {
  const state = {
    ...{ id: 'a', host: 'h', pid: 1, since: 0, servers: [], package: '1.0.0', liveRules: '' },
    ...{ problems: [], hasEnded: false, keptMs: 60_000 },
  };
  const report = reportOf(state, new Collector(() => 1_800_000_000_000));

  it('is read as it was written', () => {
    expect(readReport(JSON.stringify(report))).toEqual(report);
  });

  it('holds ten problems of at most 600 characters, and how many others there are', () => {
    const problems = Array.from({ length: 12 }, (_, nth) => `${nth} ${'x'.repeat(1000)}`);
    const reported = reportOf({ ...state, problems }, new Collector(Date.now)).problems;
    expect(reported.map(({ length }) => length)).toEqual([...Array(10).fill(601), 37]);
    expect(reported.at(-1)).toBe('The log has 2 more of these problems.');
    expect(reportOf({ ...state, problems: ['a'] }, new Collector(Date.now)).problems).toEqual(['a']);
  });

  it('is read without what an earlier release does not write', () => {
    const { package: _package, liveRules: _live, problems: _problems, keptMs: _kept, ...earlier } = report;
    const added = { package: 'another', liveRules: '', problems: [], keptMs: 5000 };
    expect(readReport(JSON.stringify(earlier))).toEqual({ ...earlier, ...added });
    expect(readReport(JSON.stringify({ ...report, problems: 7 }))).toBeUndefined();
  });

  it.each(['allowed', 'denied', 'sources', 'servers', 'rules'])(
    'is skipped if its %s are not a list, whoever has written it',
    (name) => {
      for (const value of [undefined, null, 7, 'text', {}]) {
        expect(readReport(JSON.stringify({ ...report, [name]: value }))).toBeUndefined();
      }
    },
  );
});
