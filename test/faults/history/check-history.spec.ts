import { describe, expect, it } from '@jest/globals';
import { violationsIn, type HistoryLine } from './check-history.mjs';

const LIMIT = 3;
const RULE = { kind: 'rule', rule: 'login', limit: LIMIT, windowMs: 1000 };
const HELD = { kind: 'rule', rule: 'jobs', limit: 1 };
const BLOCKING = { ...RULE, windowMs: 100, blockMs: 500 };
const AHEAD = { ...RULE, windowMs: 86_400_000, limit: 10, prefetch: { permits: 2, ttlMs: 100 } };
const FAULT = { kind: 'fault', from: 100, to: 200 };
const EMPTIED = { ...FAULT, lost: { from: 0, to: 200 } };
const STEPPED = { ...FAULT, clock: { ahead: 2000, steps: 1 } };
const SHARED = { kind: 'processes', count: 2 };
const ALONE = { ...SHARED, known: 1 };

const OF_ADA = { process: 1, rule: 'login', subject: 'ada' };

let permits = 0;

/** A request that was sent at an instant and decided 2 ms later. */
function request(sentAt: number, change: HistoryLine = {}): HistoryLine {
  const answered = { sentAt, answeredAt: sentAt + 2, cost: 1, allowed: true, source: 'redis' };
  return { ...OF_ADA, kind: 'request', permit: (permits += 1), ...answered, ...change };
}

const denied = { allowed: false };
const byFallback = { source: 'fallback' };
const byCache = { source: 'cache' };
const refused = { ...denied, ...byFallback };
const requests = (instants: readonly number[], change: HistoryLine = {}): HistoryLine[] =>
  instants.map((at) => request(at, change));

function charged(at: number, used: number, change: HistoryLine = {}): HistoryLine {
  return { ...OF_ADA, kind: 'charged', at, used, ...change };
}

function hold(sentAt: number, permit: string, change: HistoryLine = {}): HistoryLine {
  return request(sentAt, { rule: 'jobs', permit, ...change });
}

function giveBack(sentAt: number, permit: string, change: HistoryLine = {}): HistoryLine {
  return { ...OF_ADA, kind: 'return', permit, sentAt, endedAt: sentAt + 2, ...change };
}

const release = (sentAt: number, permit: string): HistoryLine => giveBack(sentAt, permit, { rule: 'jobs' });
const refund = (sentAt: number, permit: string, made = true): HistoryLine =>
  giveBack(sentAt, permit, { made });

/** Replaces the cost of a request. */
const settle = (sentAt: number, permit: string, cost: number): HistoryLine =>
  giveBack(sentAt, permit, { kind: 'settle', cost });

const OTHER = { ...RULE, rule: 'pages' };
/** A request of two rules: the results of `login` and of `pages`, and the outcome. */
function both(sentAt: number, login: boolean, pages: boolean, isAllowed = login && pages): HistoryLine[] {
  const shared = { permit: (permits += 1), together: permits, refused: !isAllowed };
  return [
    request(sentAt, { ...shared, allowed: login }),
    request(sentAt, { ...shared, rule: 'pages', allowed: pages }),
  ];
}

/** Consecutive decisions of Redis: the permits of lost calls are released by then. */
function decisions(from: number, change: HistoryLine = {}): HistoryLine[] {
  return [0, 5, 10, 15].map((after) => request(from + after, { subject: after, ...change }));
}

const LOST = { kind: 'report', process: 1, event: 'storeError' };
const CUT = { ...LOST, isCut: true };

/** Histories without a violation. */
const KEPT: readonly (readonly [string, readonly HistoryLine[]])[] = [
  ['exactly the limit in a window', [RULE, ...requests([0, 1, 2]), request(10, denied)]],
  ['the limit again when the window is over', [RULE, ...requests([0, 1, 2, 1001, 1002, 1003])]],
  [
    'requests that may belong to either window',
    [RULE, ...requests([0, 1, 2]), request(998, { answeredAt: 1000 })],
  ],
  ['a request that takes all that is left', [RULE, request(0), request(1, { cost: 2 })]],
  [
    'a hold that has waited while a permit was held',
    [{ ...HELD, waits: true }, hold(0, 'a'), release(50, 'a'), hold(10, 'b', { answeredAt: 200, ...denied })],
  ],
  [
    'a permit of a hold that has waited, and whose first call may still hold another one',
    [
      { ...HELD, waits: true },
      { ...LOST, at: 20 },
      hold(10, 'a', { answeredAt: 30 }),
      release(32, 'a'),
      hold(40, 'b', denied),
    ],
  ],
  ['a denial of more than is left', [RULE, ...requests([0, 1]), request(2, { cost: 2, ...denied })]],
  [
    'a permit that is used again after its refund',
    [RULE, ...requests([0, 1]), request(2, { permit: 'a' }), refund(10, 'a'), request(13)],
  ],
  [
    'a denial from the cache before a refund is known to the process',
    [
      RULE,
      ...requests([0, 1]),
      request(2, { permit: 'a' }),
      refund(10, 'a'),
      request(15, { ...denied, ...byCache }),
    ],
  ],
  [
    'a refund that failed because the charge is over, or because a call failed',
    [
      RULE,
      request(0, { permit: 'a' }),
      refund(1000, 'a', false),
      request(1001, { permit: 'b' }),
      { ...LOST, at: 1011 },
      refund(1010, 'b', false),
    ],
  ],
  [
    'the limit by the fallback on top of the limit by Redis',
    [RULE, FAULT, ...requests([0, 1, 2]), ...requests([110, 120, 130], byFallback)],
  ],
  [
    'the share of each of two processes by its fallback',
    [SHARED, RULE, FAULT, request(110, byFallback), request(110, { ...byFallback, process: 2 })],
  ],
  [
    'one permit of each process, however many',
    [{ ...SHARED, count: 9 }, RULE, FAULT, request(110, byFallback)],
  ],
  [
    'the whole limit by each process that knows of no other',
    [
      ALONE,
      RULE,
      FAULT,
      ...requests([110, 120, 130], byFallback),
      request(110, { ...byFallback, process: 2 }),
    ],
  ],
  [
    'a share of the limit when the processes know of one another',
    [ALONE, RULE, FAULT, request(110, byFallback), request(210, refused)],
  ],
  [
    'a denial by a fallback whose share is used up, and of more than its share',
    [
      SHARED,
      RULE,
      FAULT,
      request(110, byFallback),
      request(120, refused),
      request(130, { ...refused, cost: 2 }),
    ],
  ],
  [
    'a fallback that denies all, and one that allows all',
    [
      { ...RULE, fallback: 'deny' },
      { ...RULE, rule: 'open', fallback: 'allow' },
      FAULT,
      request(110, refused),
      ...requests([110, 111, 112, 113], { ...byFallback, rule: 'open' }),
    ],
  ],
  [
    'a denial after a call that timed out, which Redis may have run',
    [RULE, FAULT, request(100, byFallback), request(210), request(220), request(230, denied)],
  ],
  [
    'the limit by the fallback again when its clock shows that the window is over',
    [RULE, FAULT, ...requests([110, 120, 130, 1107], byFallback)],
  ],
  ['a counter that has charged what was allowed', [RULE, ...requests([0, 1]), charged(500, 2)]],
  [
    'a counter without what was refunded',
    [RULE, request(0, { permit: 'a' }), request(1), refund(10, 'a'), charged(500, 1)],
  ],
  [
    'a counter from zero after Redis lost its state',
    [RULE, EMPTIED, ...requests([0, 1, 2, 210, 220, 230]), charged(500, 3)],
  ],
  [
    'a window that begins again because the clock stepped over its end',
    [RULE, STEPPED, ...requests([0, 1, 2, 210, 220, 230])],
  ],
  [
    'a denial until a clock that stepped back is where it was',
    [RULE, STEPPED, ...requests([0, 1, 2]), request(2900, denied)],
  ],
  [
    'a denial while two processes have taken permits ahead',
    [SHARED, AHEAD, ...requests([0, 1, 2, 3, 4, 5]), request(6, { ...denied, process: 2 })],
  ],
  ['a denial during a block', [BLOCKING, ...requests([0, 1, 2]), request(10, denied), request(500, denied)]],
  [
    'the limit again when a block is over',
    [BLOCKING, ...requests([0, 1, 2]), request(10, denied), request(520)],
  ],
  [
    'a lease that ended because the clock stepped over its end',
    [{ ...HELD, leaseMs: 1000 }, STEPPED, hold(100, 'a'), hold(150, 'b')],
  ],
  ['a permit that is held again after its release', [HELD, hold(0, 'a'), release(10, 'a'), hold(13, 'b')]],
  ['a denial while the only permit is held', [HELD, hold(0, 'a'), hold(5, 'b', denied), release(10, 'a')]],
  [
    'a denial after a release that was lost, before Redis has decided several requests',
    [HELD, hold(0, 'a'), release(10, 'a'), { ...LOST, at: 11 }, ...decisions(20), hold(30, 'b', denied)],
  ],
  [
    'a denial within a second after a connection was closed with a release',
    [HELD, hold(0, 'a'), release(10, 'a'), { ...CUT, at: 11 }, ...decisions(20), hold(900, 'b', denied)],
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
  [
    'a request of two rules that one of them denies, which takes nothing from the other',
    [RULE, OTHER, ...requests([0, 1, 2]), ...both(3, false, true), charged(500, 0, { rule: 'pages' })],
  ],
  [
    'the limit of a rule after another rule has denied its requests',
    [RULE, OTHER, ...requests([0, 1, 2]), ...both(3, false, true), ...requests([5, 6, 7], { rule: 'pages' })],
  ],
  [
    'a reservation of which the settled cost is charged',
    [RULE, request(0, { permit: 'a', cost: 2 }), settle(10, 'a', 1), ...requests([13, 14]), charged(500, 3)],
  ],
  [
    'a settled cost that exceeds the limit, and a denial after it',
    [RULE, request(0, { permit: 'a', cost: 2 }), settle(10, 'a', 9), request(13, denied), charged(500, 3)],
  ],
  [
    'a denial after a settlement whose call was lost',
    [
      RULE,
      request(0, { permit: 'a', cost: 3 }),
      settle(10, 'a', 1),
      { ...LOST, at: 11 },
      request(20, denied),
    ],
  ],
  [
    'a request that waited until its window had room',
    [RULE, ...requests([0, 1, 2]), request(5, { answeredAt: 1003 })],
  ],
  [
    'a denial after a request that was lost, however many another server has decided',
    [HELD, { ...FAULT, servers: 3 }, hold(100, 'a', byFallback), ...decisions(200), hold(300, 'b', denied)],
  ],
];

/** Histories with one violation each. */
const BROKEN: readonly (readonly [string, readonly HistoryLine[], RegExp])[] = [
  [
    'one request more than the limit in a window',
    [RULE, ...requests([0, 1, 2, 900])],
    /Redis allowed 4 at once, the bound is 3/,
  ],
  [
    'one request more than the limit just before a window is over',
    [RULE, ...requests([0, 1, 2]), request(998, { answeredAt: 999.9 })],
    /Redis allowed 4 at once/,
  ],
  [
    'one permit more than the limit',
    [RULE, ...requests([0, 1]), request(2, { cost: 2 })],
    /Redis allowed 4 at once/,
  ],
  [
    'a request allowed by the deny cache beyond the limit',
    [RULE, ...requests([0, 1, 2]), request(3, byCache)],
    /Redis allowed 4/,
  ],
  [
    'a permit that is used again before its refund',
    [RULE, ...requests([0, 1]), request(2, { permit: 'a' }), request(5), refund(10, 'a')],
    /Redis allowed 4/,
  ],
  [
    'a permit that is used twice after its refund',
    [RULE, ...requests([0, 1]), request(2, { permit: 'a' }), refund(10, 'a'), ...requests([13, 14])],
    /Redis allowed 4/,
  ],
  [
    'a denial after a refund',
    [RULE, ...requests([0, 1]), request(2, { permit: 'a' }), refund(10, 'a'), request(13, denied)],
    /denied 1 at 13 with at most 2 of 3 used/,
  ],
  [
    'a denial from the cache a second after a refund',
    [
      { ...RULE, windowMs: 5000 },
      ...requests([0, 1]),
      request(2, { permit: 'a' }),
      refund(10, 'a'),
      request(1013, { ...denied, ...byCache }),
    ],
    /denied 1 at 1013 with at most 2 of 3 used/,
  ],
  [
    'a refund that was not made without cause',
    [RULE, request(0, { permit: 'a' }), { ...LOST, at: 9 }, refund(10, 'a', false)],
    /a refund at 10 was not made/,
  ],
  [
    'a refund that was made and is still charged',
    [RULE, request(0, { permit: 'a' }), refund(10, 'a'), charged(500, 1)],
    /has charged 1, but at most 0 may be/,
  ],
  [
    'more by the fallback than the limit',
    [RULE, FAULT, ...requests([110, 120, 130, 140], byFallback)],
    /the fallback of process 1 allowed 4 at once, the bound is 3/,
  ],
  [
    'more by the fallback than the share of its process',
    [SHARED, RULE, FAULT, ...requests([110, 120], byFallback)],
    /the fallback of process 1 allowed 2 at once, the bound is 1/,
  ],
  [
    'a cost by the fallback above the share of its process',
    [SHARED, RULE, FAULT, request(110, { ...byFallback, cost: 2 })],
    /the fallback of process 1 allowed 2 at once, the bound is 1/,
  ],
  [
    'more than the limit by a process that knows of no other',
    [ALONE, RULE, FAULT, ...requests([110, 120, 130, 140], byFallback)],
    /the fallback of process 1 allowed 4 at once, the bound is 3/,
  ],
  [
    'a denial by a process that knows of no other before the limit',
    [ALONE, RULE, FAULT, ...requests([110, 120], byFallback), request(130, refused)],
    /the fallback of process 1 denied 1 at 130 with at most 2 of 3 used/,
  ],
  [
    'a denial by a fallback whose share is free',
    [SHARED, RULE, FAULT, request(100, { ...byFallback, process: 2 }), request(110, refused)],
    /the fallback of process 1 denied 1 at 110 with at most 0 of 1 used/,
  ],
  [
    'a denial by the fallback when the window of its share is over',
    [SHARED, RULE, FAULT, request(110, byFallback), request(1115, refused)],
    /the fallback of process 1 denied 1 at 1115/,
  ],
  [
    'a request that a fallback allows though it denies all',
    [{ ...RULE, fallback: 'deny' }, FAULT, request(110, byFallback)],
    /allowed 1 at once, the bound is 0/,
  ],
  [
    'a request that a fallback denies though it allows all',
    [{ ...RULE, fallback: 'allow' }, FAULT, request(110, refused)],
    /denied 1 at 110 with at most 0 of Infinity used/,
  ],
  ['a charge that was lost', [RULE, ...requests([0, 1]), charged(500, 1)], /has charged 1, but allowed 2/],
  [
    'a charge that was lost before what a replica may have missed',
    [RULE, { ...FAULT, lost: { from: 50, to: 200 } }, request(0), charged(500, 0)],
    /has charged 0, but allowed 1/,
  ],
  [
    'a charge that was lost of a subject on another server',
    [RULE, { ...EMPTIED, lost: { from: 0, to: 200, subjects: ['bob'] } }, request(0), charged(500, 0)],
    /has charged 0, but allowed 1/,
  ],
  [
    'a request that was charged twice',
    [RULE, request(0), charged(500, 2)],
    /has charged 2, but at most 1 may be/,
  ],
  [
    'a denied request that was charged',
    [RULE, ...requests([0, 1, 2]), request(3, denied), charged(500, 4)],
    /has charged 4, but at most 3 may be/,
  ],
  [
    'one request more than Redis can have forgotten',
    [RULE, EMPTIED, request(0), ...requests([210, 220, 230, 240])],
    /Redis allowed 5 at once, the bound is 4/,
  ],
  [
    'one request more than the windows that the clock stepped over',
    [RULE, STEPPED, ...requests([0, 1, 2, 210, 220, 230, 240])],
    /Redis allowed 7 at once, the bound is 6/,
  ],
  [
    'a denial while permits are free',
    [RULE, ...requests([0, 1]), request(2, denied)],
    /denied 1 at 2 with at most 2 of 3 used/,
  ],
  [
    'a denial of a cost for which there is room',
    [RULE, request(0), request(2, { ...denied, cost: 2 })],
    /denied 2 at 2 with at most 1 of 3 used/,
  ],
  [
    'a denial after the window is over',
    [RULE, ...requests([0, 1, 2]), request(1010, denied)],
    /denied 1 at 1010 with at most 0 of 3 used/,
  ],
  [
    'a denial after the window is over in which calls were lost',
    [RULE, FAULT, ...requests([110, 120, 130], byFallback), ...decisions(200), request(1300, denied)],
    /denied 1 at 1300 with at most 0 of 3 used/,
  ],
  [
    'a denial for which the processes cannot have taken enough ahead',
    [SHARED, AHEAD, ...requests([0, 1, 2, 3, 4]), request(6, denied)],
    /denied 1 at 6 with at most 5 of 10 used/,
  ],
  [
    'more than the limit with permits that were taken ahead',
    [SHARED, AHEAD, ...requests(Array(11).fill(5), byCache)],
    /Redis allowed 11 at once, the bound is 10/,
  ],
  [
    'permits that were taken ahead and stay charged',
    [SHARED, AHEAD, request(0), charged(5000, 2)],
    /has charged 2, but at most 1 may be/,
  ],
  [
    'one request more than two windows that a fixed window may overlap',
    [{ ...RULE, windows: 2, waits: true }, ...requests([0, 1, 2, 3, 4, 5, 6])],
    /Redis allowed 7 at once, the bound is 6/,
  ],
  [
    'one request more than the rate and the burst of a rule for which requests wait',
    [{ ...RULE, burst: 1, waits: true }, ...requests([0, 1, 2, 3, 4])],
    /Redis allowed 5 at once, the bound is 4/,
  ],
  [
    'a hold that has waited, and is denied while no permit was held',
    [{ ...HELD, waits: true }, hold(0, 'a'), release(5, 'a'), hold(10, 'b', { answeredAt: 200, ...denied })],
    /denied 1 at 10 with at most 0 of 1 used/,
  ],
  [
    'a request that is allowed during a block',
    [BLOCKING, ...requests([0, 1, 2]), request(10, denied), request(300)],
    /Redis allowed a request at 300 during a block/,
  ],
  [
    'a request that the fallback allows during its block',
    [BLOCKING, ...requests([0, 1, 2], byFallback), request(10, refused), request(300, byFallback)],
    /the fallback of process 1 allowed a request at 300 during a block/,
  ],
  [
    'a block that began without cause',
    [BLOCKING, ...requests([0, 1]), request(10, denied)],
    /denied 1 at 10 with at most 2 of 3 used/,
  ],
  [
    'a block that a request within it has extended',
    [BLOCKING, ...requests([0, 1, 2]), request(10, denied), request(400, denied), request(600, denied)],
    /denied 1 at 600 with at most 0 of 3 used/,
  ],
  [
    'a request of two rules that one of them denies and that takes from the other',
    [RULE, OTHER, ...requests([0, 1, 2]), ...both(3, false, true), charged(500, 1, { rule: 'pages' })],
    /pages of ada: Redis has charged 1, but at most 0 may be/,
  ],
  [
    'a denial for what a denied request of two rules has not taken',
    [
      RULE,
      OTHER,
      ...requests([0, 1, 2]),
      ...[3, 4, 5].flatMap((at) => both(at, false, true)),
      request(9, { rule: 'pages', ...denied }),
    ],
    /pages of ada: Redis denied 1 at 9 with at most 0 of 3 used/,
  ],
  [
    'a request of two rules that is allowed although one of them denies',
    [{ ...RULE, limit: 0 }, OTHER, ...both(3, false, true, true)],
    /login and pages of ada: a request at 3 was allowed although a rule denied it/,
  ],
  [
    'a request of two rules that is denied although both allow',
    [RULE, OTHER, ...both(3, true, true, false)],
    /a request at 3 was denied although no rule denied it/,
  ],
  [
    'a request of two rules that took from one of them only',
    [RULE, OTHER, ...both(3, true, true), charged(500, 1), charged(500, 0, { rule: 'pages' })],
    /pages of ada: Redis has charged 0, but allowed 1/,
  ],
  [
    'more than the limit of one rule by requests of two rules',
    [RULE, { ...OTHER, limit: 9 }, ...[0, 1, 2, 3].flatMap((at) => both(at, true, true))],
    /login of ada: Redis allowed 4 at once, the bound is 3/,
  ],
  [
    'a reservation that stays charged after its settlement',
    [RULE, request(0, { permit: 'a', cost: 2 }), settle(10, 'a', 1), charged(500, 2)],
    /has charged 2, but at most 1 may be/,
  ],
  [
    'a denial for what a settlement has returned',
    [RULE, request(0, { permit: 'a', cost: 3 }), settle(10, 'a', 1), request(13, denied)],
    /denied 1 at 13 with at most 1 of 3 used/,
  ],
  [
    'a settled cost that was not charged',
    [RULE, request(0, { permit: 'a' }), settle(10, 'a', 2), charged(500, 1)],
    /has charged 1, but allowed 2/,
  ],
  [
    'a settled cost that was charged twice',
    [RULE, request(0, { permit: 'a' }), settle(10, 'a', 2), charged(500, 3)],
    /has charged 3, but at most 2 may be/,
  ],
  [
    'a request that is allowed while a settled cost exceeds the limit',
    [RULE, request(0, { permit: 'a' }), settle(10, 'a', 9), request(13)],
    /Redis allowed 1 at 13 with 9 used, the bound is 3/,
  ],
  [
    'a request that was allowed by a settled cost of the fallback beyond its share',
    [
      RULE,
      FAULT,
      request(110, { permit: 'a', ...byFallback }),
      settle(120, 'a', 3),
      request(130, byFallback),
    ],
    /the fallback of process 1 allowed 1 at 130 with 3 used, the bound is 3/,
  ],
  [
    'a request that waited, but not until its window had room',
    [RULE, ...requests([0, 1, 2]), request(5, { answeredAt: 900 })],
    /Redis allowed 4 at once, the bound is 3/,
  ],
  [
    'two holders of one permit',
    [HELD, hold(0, 'a'), hold(5, 'b')],
    /Redis allowed 2 at once, the bound is 1/,
  ],
  [
    'a denial while no permit is held',
    [HELD, hold(0, 'a'), release(10, 'a'), hold(20, 'b', denied)],
    /denied 1 at 20 with at most 0 of 1 used/,
  ],
  [
    'a permit that stays held when all was released',
    [HELD, hold(0, 'a'), release(10, 'a'), charged(500, 1, { rule: 'jobs' })],
    /has charged 1, but at most 0 may be/,
  ],
  [
    'a permit that a lost request took and that stays held when Redis has decided several others',
    [HELD, FAULT, hold(100, 'a', byFallback), ...decisions(200), hold(220, 'b', denied)],
    /denied 1 at 220 with at most 0 of 1 used/,
  ],
  [
    'a permit whose release was lost and that stays held when Redis has decided several requests',
    [HELD, hold(0, 'a'), release(10, 'a'), { ...LOST, at: 11 }, ...decisions(20), hold(40, 'b', denied)],
    /denied 1 at 40 with at most 0 of 1 used/,
  ],
  [
    'a permit that stays held for longer than a second after a connection was closed with its release',
    [HELD, hold(0, 'a'), release(10, 'a'), { ...CUT, at: 11 }, ...decisions(20), hold(1100, 'b', denied)],
    /denied 1 at 1100 with at most 0 of 1 used/,
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
    /denied 1 at 14 with at most 0 of 1 used/,
  ],
];

describe('The checker of histories', () => {
  it.each(KEPT)('the checker of histories accepts %s', (_name, history) => {
    expect(violationsIn(history)).toEqual([]);
  });

  it.each(BROKEN)('the checker of histories finds %s', (_name, history, expected) => {
    const violations = violationsIn(history);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(expected);
  });
});
