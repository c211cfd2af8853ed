import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type HitResult } from '../../lib/index.js';
import { VirtualTime } from '../support/virtual-store.js';
import { counterOf, lengthOf, RULES_OF, story, type Hit, type Version } from './changing-rule.js';

// That Redis decides the same, changed-windows.spec.ts plays.

const START = 1_700_000_040_000_000;

interface Charge {
  /** Microseconds. */
  readonly at: number;
  readonly cost: number;
  /** When its version says that all is had again. */
  readonly resetAt: number;
}

/** Plays a story; tells what was allowed. */
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

/** Every two charges: what was allowed from the first to the second, and the time between. */
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
  // A rate allows in any time t what it says for itself: burst + rate x t. No change adds to that, since permits
  // that are converted stay as many, rounded up, and come back at the fastest rate in use at most.
  it.each(['gcra', 'leaky-bucket', 'token-bucket'])(
    '%s: versions with different rules allow at most the largest burst plus the fastest rate in any time',
    (name) =>
      run(name, (charges, deployed) => {
        const fastest = largest(deployed, (version) => version.limit / lengthOf(name, version));
        const burst = largest(deployed, (version) => version.burst + (name === 'leaky-bucket' ? 1 : 0));
        // Tokens by the interval come a window's worth at a time, up to that much earlier than one by one.
        const interval =
          name === 'token-bucket'
            ? largest(deployed, ({ limit, isInterval }) => (isInterval ? limit : 0))
            : 0;
        return [...spans(charges)]
          .filter(({ sum, time }) => sum > burst + interval + fastest * time + 1e-6)
          .map(({ sum, time }) => `${sum} in ${time}`);
      }),
    120_000,
  );

  // A window allows the limit until it ends, whoever asks in it: also where a version's own is longer and ends sooner,
  // as one on the clock's grid may.
  it.each(['fixed-window', 'calendar window'])(
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
