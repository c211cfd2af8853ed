import { describe, expect, it } from '@jest/globals';
import type { HistoryLine } from './check-history.mjs';
import { contradictionsIn } from './check-reports.mjs';

const report = (at: number, by: string, what: HistoryLine): HistoryLine => ({
  kind: 'report',
  process: 1,
  at,
  by,
  ...what,
});
const log = (at: number, message: string, level = 'warn') => report(at, 'log', { level, message });
const breaker = (at: number, state: string) => report(at, 'event', { event: 'breaker', state, server: '' });
const failed = (at: number, server = '') =>
  report(at, 'event', { event: 'storeError', call: 'decision', server });
const health = (at: number, degraded: boolean, change: HistoryLine = {}) =>
  report(at, 'health', {
    askedAt: at,
    status: 'up',
    degraded,
    ...(degraded && { reason: 'gone' }),
    ...change,
  });

const BY_FALLBACK: HistoryLine = { kind: 'request', process: 1, source: 'fallback' };
const BY_REDIS: HistoryLine = { kind: 'request', process: 1, source: 'redis' };

const OUTAGE = 'Redis could not decide (gone); until it does, each process limits in its memory.';
const RECOVERY = 'Redis decides again.';
const ONCE = 'Redis could not decide a request (no reply within 50 ms); this kind of error is logged once.';

const opened = [failed(10), breaker(10, 'open'), log(10, OUTAGE), health(20, true)];
const closed = [breaker(30, 'closed'), log(30, RECOVERY, 'log')];
const FAULT = [BY_FALLBACK, ...opened, ...closed, health(40, false)];
const without = (...lines: HistoryLine[]) => FAULT.filter((line) => !lines.includes(line));

describe('the checker of reports', () => {
  it.each<[string, readonly HistoryLine[]]>([
    ['nothing where nothing failed', [BY_REDIS, health(1, false)]],
    ['an outage that all report', FAULT],
    [
      'a decision that failed though the breaker stays closed',
      [BY_FALLBACK, failed(10), log(10, ONCE), health(11, true)],
    ],
    ['health that is degraded after a decision that failed', [...FAULT, failed(50), health(60, true)]],
    [
      'health that is degraded after a decision of another server than the one that is well again',
      [...FAULT, failed(25, 'other'), health(60, true)],
    ],
    ['health that is well again after 10 s', [...FAULT, failed(50), health(20_000, false)]],
    [
      'one line where a server decides and fails in turn',
      [
        ...FAULT,
        log(50, 'Redis could not decide (gone; it decides and fails in turn); until it does, x.'),
      ].concat(
        [60, 70].flatMap((at) => [breaker(at, 'open'), breaker(at + 5, 'closed')]),
        health(80, false),
      ),
    ],
  ])('the checker of reports accepts %s', (_name, history) => {
    expect(contradictionsIn(history)).toEqual([]);
  });

  it.each<[string, readonly HistoryLine[], RegExp]>([
    [
      'an unhandled rejection',
      [...FAULT, report(50, 'process', { message: 'unhandled: x' })],
      /unhandled: x/,
    ],
    [
      'a fault that the log did not report',
      [BY_FALLBACK, failed(10), health(11, true)],
      /1 decisions of the fallback, none reported by log/,
    ],
    [
      'a fault that no event reported',
      [BY_FALLBACK, log(10, ONCE), health(11, true)],
      /1 decisions of the fallback, none reported by event/,
    ],
    [
      'a fault that health did not report',
      [BY_FALLBACK, failed(10), log(10, ONCE), health(15_000, false)],
      /1 decisions of the fallback, none reported by health/,
    ],
    [
      'health that is degraded without a reason',
      without(FAULT[4]!).concat(health(20, true, { reason: '' }), health(40, false)),
      /none reported by health/,
    ],
    [
      'a report of a fault that was none',
      [BY_REDIS, log(10, ONCE), health(11, false)],
      /no request failed, but log reported/,
    ],
    [
      'a breaker that opened without a line',
      without(FAULT[3]!),
      /1 times open, but 0 times logged|none reported by log/,
    ],
    [
      'a breaker that closed without a line',
      without(FAULT[6]!),
      /1 times closed, but 0 times logged to decide again/,
    ],
    [
      'a line without a breaker that closed',
      [...FAULT, log(50, RECOVERY, 'log')],
      /1 times closed, but 2 times logged/,
    ],
    [
      'a breaker that opens twice in a row',
      [
        ...FAULT,
        ...[50, 60].map((at) => breaker(at, 'open')),
        ...[50, 60].map((at) => log(at, OUTAGE.replace('gone', `${at}`))),
      ],
      /the breaker of {2}was open, closed, open, open/,
    ],
    [
      'a cause that is logged twice in an outage',
      [...FAULT.slice(0, 4), log(11, OUTAGE), ...FAULT.slice(4)],
      /logged twice in an outage/,
    ],
    [
      'a kind of error that is logged twice',
      [BY_FALLBACK, failed(10), log(10, ONCE), log(11, ONCE.replace('50', '49')), health(11, true)],
      /logged twice: Redis/,
    ],
    [
      'an outage that is no warning',
      without(FAULT[3]!).concat(log(10, OUTAGE, 'log'), log(10, ONCE)),
      /not a warning/,
    ],
    [
      'words of a client library',
      [...FAULT, log(9, 'Redis: enableOfflineQueue options is false')],
      /logged: Redis: enableOfflineQueue/,
    ],
    [
      'figures with too many digits',
      [...FAULT, log(9, 'no reply within 14.397710000001098 ms')],
      /logged: no reply/,
    ],
    [
      'health that is not degraded while the breaker is open',
      [...FAULT.slice(0, 5), health(30, false)],
      /health was not degraded/,
    ],
    [
      'health that is not degraded after a decision that failed',
      [...FAULT, failed(50), health(5000, false)],
      /health was not degraded/,
    ],
    ['health that stays degraded', [...FAULT, health(20_000, true)], /health was degraded though/],
    ['health that is down', [...FAULT, health(41, false, { status: 'down' })], /health was down/],
    ['no health at all', [BY_REDIS], /health was not asked/],
  ])('the checker of reports finds %s', (_name, history, expected) => {
    const contradictions = contradictionsIn(history);
    expect(contradictions.length).toBeGreaterThan(0);
    expect(contradictions.join('\n')).toMatch(expected);
  });
});
