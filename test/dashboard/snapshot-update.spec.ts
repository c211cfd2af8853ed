import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  CHART_S,
  chartStart,
  RULE_CHART_S,
  type Snapshot,
  type SnapshotRule,
  type SnapshotSecond,
} from '../../lib/dashboard/snapshot.js';
import { patched, patchOf } from '../../lib/dashboard/snapshot-patch.js';

const START = 1_700_000_000_000;

/** The requests of seconds after `START`, as [second, allowed, denied]. */
type Counts = readonly (readonly [number, number, number])[];

function secondsOf(counts: Counts, at: number, length: number): SnapshotSecond[] {
  const byTime = new Map(
    counts.map(([second, allowed, denied]) => [START + second * 1000, { allowed, denied }]),
  );
  return Array.from(byTime, ([time, count]) => ({ at: time, ...count }))
    .filter((second) => second.at >= chartStart(at, length) && second.at <= at)
    .filter(({ allowed, denied }) => allowed + denied > 0)
    .sort((one, other) => one.at - other.at);
}

function ruleAt(at: number, rule: string, limit: string, counts: Counts): SnapshotRule {
  return {
    ...{
      rule,
      routes: ['Pages.page'],
      editable: true,
      shadow: false,
      noPreview: null,
      change: null,
      exceptions: 0,
    },
    fields: [
      { name: 'limit', value: limit, differs: false, from: 'rules.default', live: false, editable: true },
    ],
    seconds: secondsOf(counts, at, RULE_CHART_S),
    minutes: counts.length > 0 ? [{ at: 60_000, allowed: counts.length, denied: 0 }] : [],
    ...{ allowed: counts.length, denied: 0, wouldDeny: 0, trialDeny: 0, byRoute: [], top: [] },
  };
}

function snapshotAt(at: number, rules: readonly SnapshotRule[], counts: Counts = []): Snapshot {
  return {
    ...{
      at,
      from: 'redis',
      problems: [],
      allUntil: null,
      alive: 1,
      gaps: [],
      readOnly: false,
      live: true,
      unmask: false,
      latency: null,
      loss: null,
      actions: [],
    },
    processes: [
      {
        ...{ id: 'p', host: 'h', pid: 1, since: START, version: '1.0.0' },
        ...{ circuit: 'closed', fallback: 0, liveRules: '', silentSince: null },
      },
    ],
    minutes: [{ at: START, allowed: counts.length, denied: 0, fallback: 0 }],
    shares: { store: 1, cache: 0, prefetched: 0, fallback: 0 },
    servers: [{ server: '', state: 'closed' }],
    rules,
    seconds: secondsOf(counts, at, CHART_S),
  };
}

const counts = fc.array(
  fc.tuple(fc.integer({ min: -150, max: 60 }), fc.nat({ max: 2 }), fc.nat({ max: 2 })),
  { maxLength: 20 },
);
const rules = fc.dictionary(
  fc.constantFrom('a', 'b', 'é', 'Z', '__proto__'),
  fc.tuple(fc.constantFrom('1', '2'), counts),
);
const snapshots = fc
  .array(
    fc.record({
      after: fc.integer({ min: 1, max: 90_000 }),
      rules,
      counts,
      allUntil: fc.constantFrom(null, START),
    }),
  )
  .map((steps) => {
    let at = START;
    return steps.map((step): Snapshot => {
      at += step.after;
      const all = Object.entries(step.rules).sort(([one], [other]) => (one < other ? -1 : 1));
      const made = all.map(([name, [limit, counted]]) => ruleAt(at, name, limit, counted));
      return { ...snapshotAt(at, made, step.counts), allUntil: step.allUntil };
    });
  });

describe('the stream of snapshots', () => {
  it('a page that merges all updates has the last snapshot', () => {
    fc.assert(
      fc.property(snapshots, (all) => {
        all.reduce(
          (before, after) => {
            const update = JSON.parse(JSON.stringify(patchOf(before, after))) as object;
            const found = patched(before, update);
            expect(found).toEqual(after);
            return found;
          },
          snapshotAt(START, []),
        );
      }),
    );
  });

  it('has less than 500 bytes a second for 300 rules without requests, and less than 400 for each busy rule', () => {
    const names = Array.from({ length: 300 }, (_, nth) => `rule-${nth}`);
    const busy: Counts = Array.from({ length: 120 }, (_, second) => [second - 60, 1000, 10]);
    const rulesAt = (at: number, used: number) =>
      names.map((name, nth) => ruleAt(at, name, '100', nth < used ? busy : []));
    const sizeOf = (used: number): number => {
      const [before, after] = [50_000, 51_000].map((ms) => {
        const made = rulesAt(START + ms, used);
        // The current rate is another one each second.
        return snapshotAt(
          START + ms,
          made.map((rule) => (rule.allowed > 0 ? { ...rule, allowed: ms / 7 } : rule)),
        );
      }) as [Snapshot, Snapshot];
      return JSON.stringify(patchOf(before, after)).length;
    };
    const idle = sizeOf(0);
    expect(idle).toBeLessThan(500);
    expect((sizeOf(100) - idle) / 100).toBeLessThan(400);
  });
});
