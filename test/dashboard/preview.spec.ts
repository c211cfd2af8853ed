import { afterEach, describe, expect, it } from '@jest/globals';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule } from '../../lib/index.js';
import { replayTraffic } from '../../lib/nest/dashboard/preview/replayed-rule.js';
import {
  hashOf,
  isSampled,
  RECORDED_MS,
  TrafficRecord,
} from '../../lib/nest/dashboard/preview/traffic-record.js';
import { mergeTraffic, readTraffic, trafficText } from '../../lib/nest/dashboard/preview/traffic-text.js';
import { closeApps } from '../support/nest-app.js';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

/** The start of a minute. */
const START = 1_700_000_040_000;
const [ANN, BOB] = [hashOf('ann'), hashOf('bob')];

/** Replays requests on one route, each as [seconds, subject, cost]. */
function replayed(requests: readonly (readonly [number, number, number?])[], now: AnyRule, then: AnyRule) {
  const record = new TrafficRecord();
  for (const [at, subject, cost = 1] of requests) record.add(START + at * 1000, subject, 0, cost);
  const rule = { now: compileRule(now), then: compileRule(then) };
  const until = START + 60_000;
  const { deniedNow, deniedThen, ...rest } = replayTraffic(record.read(until), () => rule, until);
  return { denied: [deniedNow, deniedThen], ...rest };
}

describe('the preview of a change', () => {
  it('denies what the timeline of the old and of the new rule denies', () => {
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
    expect(replayed(requests, { ...window, limit: 2 }, { ...window, limit: 3 })).toEqual({
      denied: [3, 1],
      requests: 8,
      subjects: 2,
      seconds: 60,
      sampled: 1,
    });
  });

  it('includes blocks, other algorithms and costs', () => {
    const log = { window: '10s', limit: 2 } as const;
    const requests = [
      [0, ANN],
      [0, ANN],
      [1, ANN], // denied by 2 per 10 s; blocks for 30 s
      [11, ANN], // allowed by the log, denied by the block
      [31, ANN],
    ] as const;
    expect(replayed(requests, log, { ...log, block: '30s' }).denied).toEqual([1, 2]);
    expect(replayed(requests, log, { ...log, algorithm: 'gcra', burst: 1 }).denied).toEqual([1, 2]);
    expect(replayed(requests, log, { ...log, cost: 2 }).denied).toEqual([1, 2]);
  });

  it('of a rule that depends on more than what is recorded is refused with the reason', async () => {
    const { change } = await startDashboard({
      limits: {
        onDemand: {
          login: { window: '1m', limit: () => 5, by: 'ip' },
          held: { algorithm: 'concurrency', limit: 5 },
          tenants: { algorithm: 'gcra', window: '1m', limit: 5, share: {} },
        },
      },
    });
    const messageOf = async (rule: string, fields: object): Promise<unknown> => {
      const { status, body } = await change('preview', { rule, fields });
      return [status, (JSON.parse(body) as { message: string }).message];
    };
    expect(await messageOf('login', { window: '2m' })).toEqual([
      422,
      expect.stringContaining('`limit` is a function'),
    ]);
    expect(await messageOf('held', { limit: 7 })).toEqual([422, expect.stringContaining('permits are held')]);
    expect(await messageOf('tenants', { limit: 7 })).toEqual([
      422,
      expect.stringContaining('its subjects share one limit'),
    ]);
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
      record.add(START + nth, hashOf(`subject-${nth % 20_000}`), 0, 1);
    const { depth, since, requests } = record.read(START + 200_000);
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
    for (let nth = 0; nth < 20_000; nth += 1) record.add(START + nth, nth % 2 === 0 ? ANN : BOB, 0, 1);
    const { depth, since, requests } = record.read(START + 20_000);
    expect([depth, requests.length, requests[0]!.at >= since]).toEqual([0, 8192, true]);
    expect(requests.at(-1)!.at).toBe(START + 19_999);
  });

  it('has no request that is more than ten minutes old', () => {
    const record = new TrafficRecord();
    for (const at of [0, 1, 2]) record.add(START + at, ANN, 0, 1);
    expect(record.read(START + RECORDED_MS + 1).requests.map(({ at }) => at - START)).toEqual([2]);
  });

  it('of several processes has the subjects and the time that all of them have, in the order of time', () => {
    const [even, odd] = [0b100, 0b101];
    const request = (at: number, subject: number) => ({ at, subject, route: 0, cost: 1 });
    const merged = mergeTraffic([
      { depth: 0, since: 0, requests: [request(1, even), request(5, odd), request(7, even)] },
      { depth: 1, since: 3, requests: [request(4, even), request(6, even)] },
    ]);
    expect(merged).toEqual({
      depth: 1,
      since: 3,
      requests: [request(4, even), request(6, even), request(7, even)],
    });
    expect(readTraffic(trafficText(merged))).toEqual(merged);
    expect(readTraffic('{"rows":1}')).toBeUndefined();
    expect(readTraffic('{')).toBeUndefined();
  });
});
