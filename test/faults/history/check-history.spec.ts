import { describe, expect, it } from '@jest/globals';
import { violationsIn, type HistoryLine } from './check-history.mjs';

const LIMIT = 3;
const RULE = { kind: 'rule', rule: 'login', type: 'any-window', limit: LIMIT, windowMs: 1000 };
const HELD = { kind: 'rule', rule: 'jobs', type: 'held', limit: 1 };
const FAULT = { kind: 'fault', from: 100, to: 200, forgets: false, fallback: 'L' };

let permits = 0;

/** A request that was sent at an instant and answered 2 ms later. */
function request(sentAt: number, change: HistoryLine = {}): HistoryLine {
  const answered = { sentAt, answeredAt: sentAt + 2, allowed: true, source: 'redis' };
  return { kind: 'request', rule: 'login', subject: 'ada', permit: (permits += 1), ...answered, ...change };
}

const denied = { allowed: false };
const byFallback = { source: 'fallback' };

function charged(at: number, used: number): HistoryLine {
  return { kind: 'charged', rule: 'login', subject: 'ada', at, used };
}

function hold(sentAt: number, permit: string, change: HistoryLine = {}): HistoryLine {
  return request(sentAt, { rule: 'jobs', permit, ...change });
}

function release(sentAt: number, permit: string): HistoryLine {
  return { kind: 'release', rule: 'jobs', subject: 'ada', permit, sentAt, endedAt: sentAt + 2 };
}

describe('The checker of histories', () => {
  it.each<[string, readonly HistoryLine[]]>([
    ['exactly the limit in a window', [RULE, request(0), request(1), request(2), request(10, denied)]],
    [
      'the limit again when the window is over',
      [RULE, ...[0, 1, 2, 1001, 1002, 1003].map((at) => request(at))],
    ],
    [
      'requests that may belong to either window',
      [RULE, request(0), request(1), request(2), request(997, { answeredAt: 1001 })],
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
    ['a counter that has charged what was allowed', [RULE, request(0), request(1), charged(500, 2)]],
    ['a permit that is held again after its release', [HELD, hold(0, 'a'), release(10, 'a'), hold(13, 'b')]],
    ['a denial while the only permit is held', [HELD, hold(0, 'a'), hold(5, 'b', denied), release(10, 'a')]],
    [
      'a denial soon after a release whose call was lost',
      [
        HELD,
        hold(0, 'a'),
        release(10, 'a'),
        { kind: 'report', at: 12, event: 'storeError' },
        hold(20, 'b', denied),
      ],
    ],
    [
      'a denial soon after a fault in which a call was lost',
      [HELD, FAULT, hold(100, 'a', byFallback), hold(1000, 'b', denied)],
    ],
  ])('accepts %s', (_name, history) => {
    expect(violationsIn(history)).toEqual([]);
  });

  it.each<[string, readonly HistoryLine[], RegExp]>([
    [
      'one request more than the limit in a window',
      [RULE, ...[0, 1, 2, 900].map((at) => request(at))],
      /Redis allowed 4 in one window, the bound is 3/,
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
    ['two holders of one permit', [HELD, hold(0, 'a'), hold(5, 'b')], /2 held at once, the limit is 1/],
    [
      'a denial while no permit is held',
      [HELD, hold(0, 'a'), release(10, 'a'), hold(20, 'b', denied)],
      /denied at 20 with at most 0 of 1 held/,
    ],
    [
      'a permit that a lost call took and that was never released',
      [HELD, FAULT, hold(100, 'a', byFallback), hold(6000, 'b', denied)],
      /denied at 6000 with at most 0 of 1 held/,
    ],
  ])('finds %s', (_name, history, expected) => {
    const violations = violationsIn(history);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(expected);
  });

  it('counts what Redis allowed anew after it lost its state', () => {
    const history = [RULE, { ...FAULT, forgets: true }, ...[0, 1, 2, 210, 220, 230].map((at) => request(at))];
    expect(violationsIn([...history, charged(500, 3)])).toEqual([]);
    expect(violationsIn([...history, request(240)])).toHaveLength(1);
  });
});
