import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { concurrency } from '../../lib/algorithms/concurrency/concurrency.js';
import type { Adjustment, BaseStore, Hit } from '../../lib/store.js';
import { STILL_REAL } from '../contract/still-real.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';
import { FORWARD } from './forward-timeline.js';

const NAMES = 9;
const START = 1_700_000_040_000;

const rules = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  lease: fc.constantFrom(12_000, 1_200_000, 30_000_000),
  queue: fc.constantFrom(0, 2, 1000),
});

const forward = fc.record({
  twelfths: fc.oneof(fc.constant(0), fc.nat(5)),
  by: fc.constant(0),
});

const MINUTE = 60_000;
/** Milliseconds by which the clock is set. */
const CLOCK_STEPS = [-500, -1000, -1001, -MINUTE, -600 * MINUTE, -525_600 * MINUTE, MINUTE, 600 * MINUTE];

const anyClock = fc.oneof(
  { weight: 6, arbitrary: forward },
  { weight: 1, arbitrary: fc.record({ twelfths: fc.nat(5), by: fc.constantFrom(...CLOCK_STEPS) }) },
);

const deeds = fc.record({
  does: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'hold', 'leave', 'renew', 'peek', 'reset'),
  cost: fc.integer({ min: 1, max: 4 }),
  who: fc.nat(NAMES - 1),
  rule: fc.nat(1),
});

const storyOf = (gap: fc.Arbitrary<{ twelfths: number; by: number }>) =>
  fc.array(
    fc.tuple(gap, deeds).map(([when, what]) => ({ ...when, ...what })),
    { minLength: 30, maxLength: 90, size: 'max' },
  );

type Rule = Readonly<Record<'limit' | 'lease' | 'queue', number>>;
interface Step {
  readonly twelfths: number;
  readonly by: number;
  readonly does: string;
  readonly cost: number;
  readonly who: number;
  readonly rule: number;
}

describe('the queue of a concurrency rule', () => {
  const time = new VirtualTime();
  let plain = 0;
  let stores: readonly BaseStore[] = [];

  beforeAll(() => {
    // The memory store deletes expired keys in real time. If the clock steps back after that, Redis still has the key.
    jest.useFakeTimers({ doNotFake: [...STILL_REAL] });
    stores = STORES.map((kind) => virtualStore(kind, time));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    jest.useRealTimers();
  });

  async function play(
    parameters: Rule,
    step: Step,
    key: string,
    costs: readonly number[],
  ): Promise<unknown[]> {
    const lease = `process-${step.who}`;
    const hit: Hit = { key, algorithm: concurrency, parameters, cost: costs[step.who]!, lease };
    const adjust = async (store: BaseStore, kind: Adjustment['kind']) =>
      store.adjust([{ ...hit, kind, receipt: lease, chargedAt: 0, source: store.source }]);
    return Promise.all(
      stores.map(async (store) => {
        if (step.does === 'leave') return adjust(store, 'refund');
        if (step.does === 'renew') return adjust(store, 'renew');
        if (step.does === 'reset') return (await store.reset([hit])).map(() => true);
        const asked = step.does === 'ask' ? { ...hit, waits: true } : { ...hit, lease: `plain-${++plain}` };
        const results = await store.decide([asked], { dryRun: step.does === 'peek' });
        return results.map(({ source: _source, chargedAt: _chargedAt, ...result }) => result);
      }),
    );
  }

  it.each([
    ['whoever joins, leaves, dies and renews', storyOf(forward), fc.tuple(rules)],
    ['when the clock is set, and two configurations alternate', storyOf(anyClock), fc.tuple(rules, rules)],
  ])(
    'the queue of a concurrency rule is the same on Redis and in memory, %s',
    async (_title, story, versions) => {
      let waits = 0;
      const property = fc.asyncProperty<[Rule[], Step[]]>(versions, story, async (deployed, steps) => {
        const key = `${uniquePrefix()}{ann}:jobs`;
        const told: string[] = [JSON.stringify(deployed)];
        const costs: number[] = Array.from({ length: NAMES }, () => 1);
        time.now = START;
        for (const step of steps) {
          const rule = deployed[step.rule % deployed.length]!;
          time.now += (step.twelfths * rule.lease) / 12_000 + step.by;
          if (step.does === 'leave') costs[step.who] = step.cost; // Who asks again says the same.
          const [memory, redis] = await play(rule, step, key, costs);
          told.push(`${time.now - START} ms: ${JSON.stringify(step)}: ${JSON.stringify(memory)}`);
          expect([told.join('\n'), redis]).toEqual([told.join('\n'), memory]);
          const [first] = memory as [{ delay?: number }];
          if (first.delay) waits++;
        }
      });
      await fc.assert(property, { ...FORWARD, numRuns: 200 });
      expect(waits).toBeGreaterThan(500);
    },
  );
});
