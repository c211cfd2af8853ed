import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type HitResult } from '../../lib/index.js';
import { VirtualTime } from '../support/virtual-store.js';
import { counterOf, lengthOf, RULES_OF, story, type Hit, type Version } from './changing-rule.js';

// changed-windows.spec.ts checks that Redis decides the same.

const START = 1_700_000_040_000_000;

interface Charge {
  /** Microseconds. */
  readonly at: number;
  readonly cost: number;
  /** When the full limit is available, according to its version. */
  readonly resetAt: number;
}

/** Plays a story. Returns the allowed requests. */
async function play(name: string, deployed: readonly Version[], hits: readonly Hit[]): Promise<Charge[]> {
  const time = new VirtualTime();
  const store = new MemoryStore({ clock: time.clock });
  const shortest = Math.min(...deployed.map((version) => lengthOf(name, version)));
  const charges: Charge[] = [];
  let now = START;
  let retryAfter = 0;
  for (const { version: index, after, cost } of hits) {
    const counter = counterOf('{ann}', RULES_OF[name]!(deployed[index]!), now);
    if (after === 'retry') now += retryAfter;
    else now += after === 'long' ? shortest * 3 : Math.floor((shortest * after) / 12);
    time.now = now / 1000;
    const [verdict] = store.decide([{ ...counter, cost }], {}) as [HitResult];
    retryAfter = verdict.allowed ? 0 : (verdict.retryAfter ?? 0);
    if (verdict.allowed) charges.push({ at: now, cost, resetAt: now + verdict.resetAfter });
  }
  await store.close();
  return charges;
}

const run = (name: string, check: (charges: readonly Charge[], deployed: readonly Version[]) => string[]) =>
  fc.assert(
    fc.asyncProperty(story, async ({ deployed, hits }) => {
      expect(check(await play(name, deployed, hits), deployed)).toEqual([]);
    }),
    { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 300, endOnFailure: true },
  );

/** Every two charges: what was allowed from the first to the second, and the time between them. */
function* spans(charges: readonly Charge[]): Generator<{ sum: number; time: number }> {
  for (const [first, { at }] of charges.entries()) {
    let sum = 0;
    for (const charge of charges.slice(first)) {
      sum += charge.cost;
      yield { sum, time: charge.at - at };
    }
  }
}

const largest = (deployed: readonly Version[], figure: (version: Version) => number) =>
  Math.max(...deployed.map(figure));

describe('versions with other windows, limits and bursts on one counter', () => {
  // A rate allows in any time t at most its own bound: burst + rate x t. A change adds nothing, since converted
  // permits stay as many, rounded up, and become available at most at the fastest rate in use.
  it.each(['gcra', 'leaky-bucket', 'token-bucket', 'gcra in proportion', 'token-bucket in proportion'])(
    '%s: versions with different rules allow at most the largest burst plus the fastest rate in any time',
    (name) =>
      run(name, (charges, deployed) => {
        const fastest = largest(deployed, (version) => version.limit / lengthOf(name, version));
        const burst = largest(deployed, (version) =>
          name.endsWith('in proportion') ? version.limit : version.burst + (name === 'leaky-bucket' ? 1 : 0),
        );
        // With `refill: 'interval'`, the tokens of a whole window are added at once, so up to a window earlier than
        // one by one.
        const interval = name.startsWith('token-bucket')
          ? largest(deployed, ({ limit, isInterval }) => (isInterval ? limit : 0))
          : 0;
        return [...spans(charges)]
          .filter(({ sum, time }) => sum > burst + interval + fastest * time + 1e-6)
          .map(({ sum, time }) => `${sum} in ${time}`);
      }),
    120_000,
  );

  // A window allows the limit until it ends, for all versions. This includes a version with a longer window that ends
  // sooner, because it is aligned to the clock.
  it.each(['fixed-window', 'calendar window', 'fixed-window in proportion', 'calendar window in proportion'])(
    '%s: versions with different rules allow at most the largest limit until the last reported end of a window',
    (name) =>
      run(name, (charges, deployed) => {
        const most = largest(deployed, ({ limit }) => limit);
        return charges.flatMap(({ at, resetAt }, first) => {
          const within = charges.slice(first).filter((charge) => charge.at < resetAt);
          const sum = within.reduce((total, { cost }) => total + cost, 0);
          return sum > most ? [`${sum} of ${most} from ${at} to ${resetAt}`] : [];
        });
      }),
    120_000,
  );
});
