import { describe, expect, it } from '@jest/globals';
import { violationsIn, type HistoryLine } from './check-history.mjs';

const LIMIT = 3;
const RULE = { kind: 'rule', rule: 'login', type: 'any-window', limit: LIMIT, windowMs: 1000 };
const HELD = { kind: 'rule', rule: 'jobs', type: 'held', limit: 1 };
const FAULT = { kind: 'fault', from: 100, to: 200, forgets: false, fallback: 'L' };

const OF_ADA = { process: 1, rule: 'login', subject: 'ada' };

let permits = 0;

/** A request that was sent at an instant and answered 2 ms later. */
function request(sentAt: number, change: HistoryLine = {}): HistoryLine {
  const answered = { sentAt, answeredAt: sentAt + 2, allowed: true, source: 'redis' };
  return { ...OF_ADA, kind: 'request', permit: (permits += 1), ...answered, ...change };
}

const denied = { allowed: false };
const byFallback = { source: 'fallback' };

function charged(at: number, used: number): HistoryLine {
  return { ...OF_ADA, kind: 'charged', at, used };
}

function hold(sentAt: number, permit: string, change: HistoryLine = {}): HistoryLine {
  return request(sentAt, { rule: 'jobs', permit, ...change });
}

function release(sentAt: number, permit: string): HistoryLine {
  return { ...OF_ADA, kind: 'release', rule: 'jobs', permit, sentAt, endedAt: sentAt + 2 };
}

/** Decisions of Redis, one sent after the other was answered: by then what the process lost is free. */
function decisions(from: number, change: HistoryLine = {}): HistoryLine[] {
  return [0, 5, 10, 15].map((after) => request(from + after, { subject: after, ...change }));
}

const LOST = { kind: 'report', process: 1, event: 'storeError' };

describe('The checker of histories', () => {
  it.each<[string, readonly HistoryLine[]]>([
    ['exactly the limit in a window', [RULE, request(0), request(1), request(2), request(10, denied)]],
    [
      'the limit again when the window is over',
      [RULE, ...[0, 1, 2, 1001, 1002, 1003].map((at) => request(at))],
    ],
    [
      'requests that may belong to either window',
      [RULE, request(0), request(1), request(2), request(998, { answeredAt: 1000 })],
    ],
    [
      'the limit by the fallback on top of the limit by Redis',
      [
        RULE,
        FAULT,
        ...[0, 1, 2].map((at) => request(at)),
        ...[110, 120, 130].map((at) => request(at, byFallback)),
      ],
    ],
    [
      'a denial after a call that timed out, which Redis may have run',
      [RULE, FAULT, request(100, byFallback), request(210), request(220), request(230, denied)],
    ],
    [
      'the limit by the fallback again when its clock shows that the window is over',
      [RULE, FAULT, ...[110, 120, 130, 1107].map((at) => request(at, byFallback))],
    ],
    ['a counter that has charged what was allowed', [RULE, request(0), request(1), charged(500, 2)]],
    ['a permit that is held again after its release', [HELD, hold(0, 'a'), release(10, 'a'), hold(13, 'b')]],
    ['a denial while the only permit is held', [HELD, hold(0, 'a'), hold(5, 'b', denied), release(10, 'a')]],
    [
      'a denial after a release that was lost, before Redis has decided several requests',
      [HELD, hold(0, 'a'), release(10, 'a'), { ...LOST, at: 11 }, ...decisions(20), hold(30, 'b', denied)],
    ],
    [
      'a denial after a request that was lost, before Redis has decided several others',
      [HELD, FAULT, hold(100, 'a', byFallback), hold(1000, 'b', denied)],
    ],
    [
      'a denial after a request that was lost, however many Redis has decided of another process',
      [
        HELD,
        FAULT,
        hold(100, 'a', byFallback),
        ...decisions(200, { process: 2 }),
        hold(300, 'b', { ...denied, process: 2 }),
      ],
    ],
  ])('the checker of histories accepts %s', (_name, history) => {
    expect(violationsIn(history)).toEqual([]);
  });

  it.each<[string, readonly HistoryLine[], RegExp]>([
    [
      'one request more than the limit in a window',
      [RULE, ...[0, 1, 2, 900].map((at) => request(at))],
      /Redis allowed 4 in one window, the bound is 3/,
    ],
    [
      'one request more than the limit just before a window is over',
      [RULE, request(0), request(1), request(2), request(998, { answeredAt: 999.9 })],
      /Redis allowed 4 in one window/,
    ],
    [
      'a request allowed by the deny cache beyond the limit',
      [RULE, ...[0, 1, 2].map((at) => request(at)), request(3, { source: 'cache' })],
      /Redis allowed 4/,
    ],
    [
      'more by the fallback than its bound',
      [RULE, FAULT, ...[110, 120, 130, 140].map((at) => request(at, byFallback))],
      /the fallback allowed 4 in one window, the bound is 3/,
    ],
    [
      'the fallback deciding where no fault was',
      [RULE, request(0, byFallback)],
      /the fallback allowed 1 in one window, the bound is 0/,
    ],
    [
      'a charge that was lost',
      [RULE, request(0), request(1), charged(500, 1)],
      /has charged 1, but allowed 2/,
    ],
    [
      'a request that was charged twice',
      [RULE, request(0), charged(500, 2)],
      /has charged 2, but at most 1 may be/,
    ],
    [
      'a denied request that was charged',
      [RULE, ...[0, 1, 2].map((at) => request(at)), request(3, denied), charged(500, 4)],
      /has charged 4, but at most 3 may be/,
    ],
    [
      'a denial while permits are free',
      [RULE, request(0), request(1), request(2, denied)],
      /denied at 2 with at most 2 of 3 used/,
    ],
    [
      'a denial after the window is over',
      [RULE, ...[0, 1, 2].map((at) => request(at)), request(1010, denied)],
      /denied at 1010 with at most 0 of 3 used/,
    ],
    [
      'a denial after the window is over in which calls were lost',
      [
        RULE,
        FAULT,
        ...[110, 120, 130].map((at) => request(at, byFallback)),
        ...decisions(200),
        request(1300, denied),
      ],
      /denied at 1300 with at most 0 of 3 used/,
    ],
    ['two holders of one permit', [HELD, hold(0, 'a'), hold(5, 'b')], /2 held at once, the limit is 1/],
    [
      'a denial while no permit is held',
      [HELD, hold(0, 'a'), release(10, 'a'), hold(20, 'b', denied)],
      /denied at 20 with at most 0 of 1 held/,
    ],
    [
      'a permit that a lost request took and that stays held when Redis has decided several others',
      [HELD, FAULT, hold(100, 'a', byFallback), ...decisions(200), hold(220, 'b', denied)],
      /denied at 220 with at most 0 of 1 held/,
    ],
    [
      'a permit whose release was lost and that stays held when Redis has decided several requests',
      [HELD, hold(0, 'a'), release(10, 'a'), { ...LOST, at: 11 }, ...decisions(20), hold(40, 'b', denied)],
      /denied at 40 with at most 0 of 1 held/,
    ],
    [
      'a permit that stays held after its release though no call of it has failed',
      [
        HELD,
        hold(0, 'a'),
        { ...LOST, at: 9 },
        release(10, 'a'),
        { ...LOST, at: 13 },
        { ...LOST, at: 11, process: 2 },
        hold(14, 'b', denied),
      ],
      /denied at 14 with at most 0 of 1 held/,
    ],
  ])('the checker of histories finds %s', (_name, history, expected) => {
    const violations = violationsIn(history);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(expected);
  });

  it('the checker of histories counts from zero after Redis lost its state', () => {
    const history = [RULE, { ...FAULT, forgets: true }, ...[0, 1, 2, 210, 220, 230].map((at) => request(at))];
    expect(violationsIn([...history, charged(500, 3)])).toEqual([]);
    expect(violationsIn([...history, request(240)])).toHaveLength(1);
  });
});
