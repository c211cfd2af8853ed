import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitService, type RouteRule } from '../../lib/index.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { changedFields } from '../../lib/nest/rules/rule-changes.js';
import { replayedRule, replayTraffic, whyNoPreview } from '../../lib/dashboard/preview/replay-traffic.js';
import type { Preview } from '../../lib/dashboard/snapshot.js';
import {
  hashOf,
  isSampled,
  RECORDED_MS,
  TrafficRecord,
  mergeTraffic,
  readTraffic,
  type AddedRequest,
} from '../../lib/dashboard/collect/traffic-record.js';
import { closeApps } from '../support/nest-app.js';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

/** The start of a minute. */
const START = 1_700_000_040_000;
const [ANN, BOB] = [hashOf('ann'), hashOf('bob')];

type Fields = Readonly<Record<string, unknown>>;

/** A request that takes one permit. */
const request = (subject: number, more: Partial<AddedRequest> = {}): AddedRequest => {
  return { subject, route: 0, cost: 1, isDenied: false, resolved: undefined, ...more };
};

/** Replays a record of one route until a minute after its start, by a rule and by its live change. */
async function preview(record: TrafficRecord, rule: object, fields: Fields) {
  const change = { layer: { rule: 'login', fields, until: Infinity }, exceptions: [] };
  const named = { name: 'login', ...rule };
  const replayed = replayedRule(named, changedFields(named, change));
  const until = START + 60_000;
  const { deniedNow, deniedThen, ...rest } = await replayTraffic(
    mergeTraffic([record.read(until)]),
    () => replayed,
    until,
  );
  return { denied: [deniedNow, deniedThen], ...rest };
}

/** Replays requests, each as [seconds, subject]. */
function replayed(requests: readonly (readonly [number, number])[], rule: AnyRule, fields: Fields) {
  const record = new TrafficRecord();
  for (const [at, subject] of requests) record.add(START + at * 1000, request(subject));
  return preview(record, rule, fields);
}

describe('the preview of a change', () => {
  it('for one subject, its exception overrides the recorded plan', async () => {
    const rule = {
      ...{ name: 'login', window: '1h', limit: 1, algorithm: 'fixed-window' },
      ...{ plans: { pro: { limit: 3 } }, plan: () => 'pro' },
    };
    const record = new TrafficRecord();
    for (const at of [0, 1, 2]) record.add(START + at * 1000, request(ANN, { resolved: { plan: 'pro' } }));
    const excepted = replayedRule(rule, rule, { limit: 2 });
    const until = START + 60_000;
    const traffic = mergeTraffic([record.read(until)]);
    expect(await replayTraffic(traffic, () => excepted, until)).toMatchObject({
      deniedNow: 0,
      deniedThen: 1,
    });
  });

  it('denies what the timeline of the old and of the new rule denies', async () => {
    const window = { window: '10s', algorithm: 'fixed-window' } as const;
    const requests = [
      [0, ANN],
      [1, ANN],
      [2, ANN], // denied by 2 per 10 s
      [3, BOB],
      [12, ANN],
      [13, ANN],
      [14, ANN], // denied by 2 per 10 s
      [14.5, ANN], // denied by both
    ] as const;
    expect(await replayed(requests, { ...window, limit: 2 }, { limit: 3 })).toEqual({
      denied: [3, 1],
      deniedRecorded: 0,
      requests: 8,
      assumed: 0,
      assumedHoldMs: null,
      subjects: 2,
      seconds: 60,
      sampled: 1,
    });
  });

  it('includes blocks, other algorithms and costs', async () => {
    const log = { window: '10s', limit: 2 } as const;
    const requests = [
      [0, ANN],
      [0, ANN],
      [1, ANN], // denied by 2 per 10 s; blocks for 30 s
      [11, ANN], // allowed by the log, denied by the block
      [31, ANN],
    ] as const;
    expect((await replayed(requests, log, { block: '30s' })).denied).toEqual([1, 2]);
    expect((await replayed(requests, log, { algorithm: 'gcra', burst: 1 })).denied).toEqual([1, 2]);
    expect((await replayed(requests, log, { cost: 2 })).denied).toEqual([1, 2]);
  });

  it('refunds permits when they were refunded, so that requests that do not count leave room', async () => {
    const record = new TrafficRecord();
    // Of four logins in four seconds, the second fails; each response comes after half a second.
    for (const at of [0, 1000, 2000, 3000]) {
      record.add(START + at, request(ANN));
      if (at !== 1000) record.refund(START + at + 500, { subject: ANN, route: 0 }, START + at);
    }
    const login = { window: '10s', limit: 2, count: 'failures' };
    expect(await preview(record, login, { limit: 1 })).toMatchObject({ denied: [0, 2], assumed: 0 });
    const slow = new TrafficRecord();
    for (const at of [0, 1000, 2000]) slow.add(START + at, request(ANN));
    for (const at of [0, 1000, 2000]) slow.refund(START + 2500, { subject: ANN, route: 0 }, START + at);
    expect(await preview(slow, login, { limit: 3 })).toMatchObject({ denied: [1, 0] });
  });

  it('assumes that a denied request whose response is unknown counts, and states how many there are', async () => {
    const record = new TrafficRecord();
    record.add(START, request(ANN));
    record.add(START + 1000, request(ANN, { isDenied: true }));
    record.add(START + 2000, request(ANN, { isDenied: true }));
    const login = { window: '10s', limit: 1, count: 'failures' };
    expect(await preview(record, login, { limit: 2 })).toMatchObject({ denied: [2, 1], assumed: 1 });
    expect(await preview(record, { ...login, count: 'all' }, { limit: 2 })).toMatchObject({ assumed: 0 });
  });

  it('holds permits until they were released, even longer than a lease', async () => {
    const record = new TrafficRecord();
    // Three requests of 40 s, one every 10 s, and a fourth after 55 s.
    for (const at of [0, 10_000, 20_000, 55_000]) record.add(START + at, request(ANN));
    const release = (at: number) =>
      record.refund(START + at + 40_000, { subject: ANN, route: 0 }, START + at);
    [0, 10_000].forEach(release);
    const rule = { algorithm: 'concurrency', limit: 3, lease: '1s' };
    expect(await preview(record, rule, { limit: 2 })).toMatchObject({ denied: [0, 1], assumed: 0 });
    expect(await preview(record, rule, { limit: 1 })).toMatchObject({ denied: [0, 2], assumed: 0 });
    expect(await preview(record, rule, { cost: 3 })).toMatchObject({ denied: [0, 2], assumed: 0 });
  });

  it('assumes that a denied request holds its permits as long as the others on average', async () => {
    const record = new TrafficRecord();
    record.add(START, request(ANN));
    record.add(START + 1000, request(ANN, { isDenied: true }));
    record.refund(START + 2000, { subject: ANN, route: 0 }, START);
    record.add(START + 2500, request(ANN));
    record.add(START + 3500, request(ANN, { isDenied: true }));
    record.refund(START + 4500, { subject: ANN, route: 0 }, START + 2500);
    const rule = { algorithm: 'concurrency', limit: 1 };
    const expected = { denied: [2, 0], assumed: 2, assumedHoldMs: 2000 };
    expect(await preview(record, rule, { limit: 2 })).toMatchObject(expected);
    const unreleased = new TrafficRecord();
    unreleased.add(START, request(ANN));
    unreleased.add(START + 1, request(ANN, { isDenied: true }));
    unreleased.add(START + 2, request(ANN, { isDenied: true }));
    const none = { denied: [2, 1], assumed: 1, assumedHoldMs: null };
    expect(await preview(unreleased, rule, { limit: 2 })).toMatchObject(none);
  });

  it('has the limit and the cost that functions returned, unless the change sets them', async () => {
    const record = new TrafficRecord();
    const [small, large] = [
      { limit: 1, window: '10s' },
      { limit: 2, window: '10s' },
    ];
    for (let nth = 0; nth < 3; nth += 1) {
      record.add(START + nth, request(ANN, { resolved: { ...small } }));
      record.add(START + nth, request(BOB, { resolved: { ...large }, cost: 2 }));
    }
    const rule = { window: '10s', limit: () => 1, cost: () => 1, algorithm: 'fixed-window' };
    // Ann is denied twice, and Bob too, whose requests cost 2.
    expect((await preview(record, rule, { window: '20s' })).denied).toEqual([4, 4]);
    expect((await preview(record, rule, { limit: 4 })).denied).toEqual([4, 1]);
    expect((await preview(record, rule, { cost: 1 })).denied).toEqual([4, 3]);
    expect((await preview(record, rule, { limit: 3, cost: 1 })).denied).toEqual([4, 0]);
  });

  it('has the plan and the exception of each request, with what the change makes of it', async () => {
    const record = new TrafficRecord();
    for (let nth = 0; nth < 3; nth += 1) {
      record.add(START + nth, request(ANN));
      record.add(START + nth, request(BOB, { resolved: { plan: 'pro' } }));
      record.add(START + nth, request(hashOf('eve'), { resolved: { exception: 'deny' } }));
    }
    const rule: Partial<RouteRule> = {
      ...{ window: '10s', limit: 1, algorithm: 'fixed-window', plan: () => 'pro' },
      plans: { pro: { limit: 2 } },
    };
    expect((await preview(record, rule, { limit: 3 })).denied).toEqual([2 + 1 + 3, 0 + 0 + 3]);
    expect((await preview(record, rule, { plans: { pro: { limit: 3 } } })).denied).toEqual([6, 2 + 0 + 3]);
    expect((await preview(record, rule, { limit: 3, cost: 2 })).denied).toEqual([6, 2 + 2 + 3]);
  });

  it('follows the responses of an application: logins that succeed leave room for others', async () => {
    const { change, login } = await startDashboard({
      limits: {
        onDemand: { login: { window: '1h', limit: 5, by: 'ip', count: 'failures' } },
      },
    });
    for (let nth = 0; nth < 12; nth += 1) expect((await login('203.0.113.7')).status).toBe(200);
    const effectOf = async (fields: object): Promise<unknown> =>
      JSON.parse((await change('rules/preview', { rule: 'login', fields })).body);
    expect(await effectOf({ limit: 1 })).toMatchObject({
      requests: 12,
      deniedNow: 0,
      deniedThen: 0,
      assumed: 0,
      assumedHoldMs: null,
    });
  });

  it('follows the limits that a function returned and the plans of an application', async () => {
    const ofHeader = (context: ExecutionContext, name: string): string | undefined =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers[name];
    const { change, get } = await startDashboard({
      limits: {
        rules: {
          default: {
            window: '1h',
            limit: (context) => Number(ofHeader(context, 'x-limit') ?? 1),
            by: 'everyone',
          },
          planned: {
            ...{ window: '1h', limit: 1, by: 'everyone', mode: 'shadow' },
            ...{ plan: (context) => ofHeader(context, 'x-plan'), plans: { pro: { limit: 3 } } },
          },
        },
      },
    });
    for (let nth = 0; nth < 3; nth += 1) await get('/page', { 'x-limit': '3', 'x-plan': 'pro' });
    const deniedOf = async (rule: string, fields: object): Promise<unknown> => {
      const { body } = await change('rules/preview', { rule, fields });
      const { deniedNow, deniedThen } = JSON.parse(body) as Preview;
      return [deniedNow, deniedThen];
    };
    expect(await deniedOf('default', { block: '1m' })).toEqual([0, 0]);
    expect(await deniedOf('default', { limit: 2 })).toEqual([0, 1]);
    expect(await deniedOf('planned', { plans: { pro: { limit: 1 } } })).toEqual([0, 2]);
    expect(await deniedOf('planned', { limit: 2 })).toEqual([0, 1]);
  });

  it('of a rule whose permits are held knows when they were released', async () => {
    const { app, change, rule } = await startDashboard({
      limits: {
        onDemand: {
          login: { window: '1m', limit: 5, by: 'ip' },
          held: { algorithm: 'concurrency', limit: 2 },
        },
      },
    });
    const limits = app.get(RateLimitService);
    // The record has milliseconds: each step is in one of its own.
    const enter = async () => {
      await sleep(2);
      return limits.hold('held', 'ann');
    };
    for (let times = 0; times < 2; times += 1) {
      const [first, second, denied] = [await enter(), await enter(), await enter()];
      expect(denied.allowed).toBe(false);
      await sleep(2);
      await Promise.all([first.release(), second.release()]);
    }
    expect((await rule('held')).noPreview).toBeNull();
    const effectOf = async (limit: number): Promise<unknown> => {
      const { deniedNow, deniedThen, assumed } = JSON.parse(
        (await change('rules/preview', { rule: 'held', fields: { limit } })).body,
      ) as Preview;
      return [deniedNow, deniedThen, assumed];
    };
    expect(await effectOf(1)).toEqual([2, 4, 0]);
    expect(await effectOf(2)).toEqual([2, 2, 0]);
  });

  it('of a rule that depends on more than what is recorded is refused with the reason', async () => {
    const { change, rule } = await startDashboard({
      limits: {
        onDemand: {
          login: { window: '1m', limit: 5, by: 'ip' },
          tenants: { algorithm: 'gcra', window: '1m', limit: 5, share: {} },
        },
      },
    });
    const messageOf = async (rule: string, fields: object): Promise<unknown> => {
      const { status, body } = await change('rules/preview', { rule, fields });
      return [status, (JSON.parse(body) as { message: string }).message];
    };
    for (const [name, reason] of [['tenants', 'its subjects share one limit']] as const) {
      expect(await messageOf(name, { limit: 7 })).toEqual([422, expect.stringContaining(reason)]);
      expect((await rule(name)).noPreview).toContain(reason);
    }
    expect((await rule('default')).noPreview).toBeNull();
    const waiting = whyNoPreview({ window: '1m', limit: 1, algorithm: 'concurrency', maxWait: '1s' });
    expect(waiting).toContain('its requests wait for permits');
    expect(await messageOf('default', { limit: -1 })).toEqual([
      422,
      expect.stringContaining('limit: got -1; allowed:'),
    ]);
    expect(await messageOf('default', { by: 'user' })).toEqual([
      422,
      expect.stringContaining('only in the code'),
    ]);
    expect(await messageOf('unknown', { limit: 1 })).toEqual([
      422,
      expect.stringContaining('no rule has this name'),
    ]);
  });
});

describe('the record of requests', () => {
  it('has all requests of each subject that it has, with a share of many subjects', () => {
    const record = new TrafficRecord();
    for (let nth = 0; nth < 200_000; nth += 1)
      record.add(START + nth, request(hashOf(`subject-${nth % 20_000}`)));
    const { depth, since, requests } = mergeTraffic([record.read(START + 200_000)]);
    const counts = new Map<number, number>();
    for (const { subject } of requests) counts.set(subject, (counts.get(subject) ?? 0) + 1);
    expect(since).toBe(0);
    expect(requests.length).toBeLessThanOrEqual(8192);
    expect(requests.length).toBeGreaterThan(3000);
    expect([...new Set(counts.values())]).toEqual([10]);
    expect([...counts.keys()].every((subject) => isSampled(subject, depth))).toBe(true);
  });

  it('has the last requests of few subjects', () => {
    const record = new TrafficRecord();
    for (let nth = 0; nth < 20_000; nth += 1) record.add(START + nth, request(nth % 2 === 0 ? ANN : BOB));
    const { depth, since, requests } = mergeTraffic([record.read(START + 20_000)]);
    expect([depth, requests[0]!.at === since]).toEqual([0, true]);
    expect(requests.length).toBeGreaterThan(6144);
    expect(requests.length).toBeLessThanOrEqual(8192);
    expect(requests.at(-1)!.at).toBe(START + 19_999);
  });

  it('has no request that is more than ten minutes old', () => {
    const record = new TrafficRecord();
    for (const at of [0, 1, 2]) record.add(START + at, request(ANN));
    expect(mergeTraffic([record.read(START + RECORDED_MS + 1)]).requests.map(({ at }) => at - START)).toEqual(
      [2],
    );
  });

  it('starts anew when requests determined more than 1,024 different values', () => {
    const record = new TrafficRecord();
    for (let limit = 1; limit <= 1025; limit += 1)
      record.add(START + limit, request(ANN, { resolved: { limit, window: '1m' } }));
    const { since, requests } = mergeTraffic([record.read(START + 2000)]);
    expect([since, requests.map(({ resolved }) => resolved)]).toEqual([
      START + 1025,
      [{ limit: 1025, window: '1m' }],
    ]);
  });

  it('of several processes has the subjects and the time that all of them have, in the order of time', () => {
    const [even, odd] = [0b100, 0b101];
    const one = new TrafficRecord();
    one.add(1, request(even));
    one.add(5, request(odd));
    one.add(7, request(even));
    one.refund(9, { subject: even, route: 0 }, 7);
    const other = new TrafficRecord();
    other.add(4, request(even, { resolved: { plan: 'pro' } }));
    other.add(6, request(even, { isDenied: true }));
    const sent = readTraffic(JSON.stringify({ ...other.read(10), depth: 1, since: 3 }))!;
    expect(mergeTraffic([one.read(10), sent])).toEqual({
      depth: 1,
      since: 3,
      requests: [
        { at: 4, ...request(even, { resolved: { plan: 'pro' } }) },
        { at: 6, ...request(even, { isDenied: true }) },
        { at: 7, ...request(even), refundedAt: 9 },
      ],
    });
    expect(readTraffic('{"rows":1}')).toBeUndefined();
    expect(readTraffic('{')).toBeUndefined();
  });
});
