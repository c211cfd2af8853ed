import { beforeAll, describe, expect, it } from '@jest/globals';
import { EVERY_FAULT } from '../every-fault.js';
import { PATIENCE_MS } from '../scale.js';
import { violationsIn, type HistoryLine } from './check-history.mjs';
import { contradictionsIn } from './check-reports.mjs';
import { ACTUAL_COSTS, EXAMINED, LINED, QUEUED } from './recorded-rules.mjs';
import { recordFault } from './record-fault.js';

type Request = Readonly<{
  kind: string;
  process: number;
  rule: string;
  source: string;
  cost: number;
  allowed: boolean;
  refused?: boolean;
}>;

describe.each(EVERY_FAULT)('$name', (fault) => {
  let history: HistoryLine[];
  let requests: Request[];

  beforeAll(async () => {
    history = await recordFault(fault);
    requests = history.filter(({ kind }) => kind === 'request') as unknown as Request[];
  }, 4 * PATIENCE_MS);

  const has = (which: Partial<Request>) =>
    requests.some((each) => Object.entries(which).every(([name, value]) => each[name as 'rule'] === value));

  it('the histories of two processes satisfy every guarantee during a fault', () => {
    expect(violationsIn(history)).toEqual([]);
  });

  it('log, events and health report the same fault, in words, once for each change and each kind of error', () => {
    expect(contradictionsIn(history)).toEqual([]);
  });

  it('a history of a fault has requests of every kind that the checker examines', () => {
    const processes = [...new Set(requests.map((request) => request.process))];
    expect(processes).toHaveLength(2);
    for (const rule of EXAMINED) {
      const decided = (by: Partial<Request>) => [true, false].map((allowed) => has({ ...by, rule, allowed }));
      expect([rule, ...decided({ source: 'redis' })]).toEqual([rule, true, true]);
      if (fault.deciding !== 'fallback') continue;
      for (const process of processes) {
        expect([rule, process, ...decided({ source: 'fallback', process })]).toEqual([
          rule,
          process,
          true,
          true,
        ]);
      }
    }
    for (const rule of ['left', 'right'])
      expect([rule, has({ rule, allowed: true, refused: true })]).toEqual([rule, true]);
    for (const rule of [...LINED, QUEUED].map(({ name }) => name))
      expect([rule, has({ rule, allowed: true, source: 'redis' })]).toEqual([rule, true]);
    const settled = history.filter(({ kind }) => kind === 'settle').map(({ cost }) => cost);
    expect(new Set(settled)).toEqual(new Set(ACTUAL_COSTS));
    for (const rule of ['short', 'blocking'])
      expect([rule, has({ rule, allowed: false })]).toEqual([rule, true]);
    expect(has({ source: 'redis', allowed: true, cost: 2 })).toBe(true);
    expect(has({ rule: 'ahead', source: 'cache', allowed: true })).toBe(true);
    expect(history.some(({ kind, made }) => kind === 'return' && made === true)).toBe(true);
    expect(history.filter(({ kind }) => kind === 'charged').length).toBeGreaterThan(20);
  });
});
