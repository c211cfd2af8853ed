import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { MemoryStore } from '../../lib/index.js';
import type { Hit, HitResult } from '../../lib/store.js';
import { adjustmentOf } from '../../lib/contracts/store.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { FORWARD } from './forward-timeline.js';
import { rules } from './random-rule.js';
import type { RuleSketch } from './rule-sketch.js';
import { isShared } from './sayable-rule.js';
import { lengthOf, toRule } from './sketched-rule.js';

// parity.spec.ts checks that Redis decides the same.

const START = 1_700_000_040_000_000;
const names = (Object.keys(algorithms) as AlgorithmName[]).filter((name) => !algorithms[name].leases);

/** Seconds by which the clock is set: forward, or back. */
const STEPS = [-31_536_000, -36_000, -60, 60, 36_000, 31_536_000];

const moves = fc.array(
  fc.record({
    configuration: fc.nat(1),
    /** Twelfths of the shorter window, or until the last wait has passed. */
    after: fc.oneof(
      { weight: 8, arbitrary: fc.constant<number | 'retry'>(0) },
      { weight: 8, arbitrary: fc.nat(14) },
      { weight: 3, arbitrary: fc.constant<number | 'retry'>('retry') },
    ),
    step: fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, fc.constantFrom(...STEPS)),
    cost: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 6 })),
    /** A refund of an earlier charge follows, counted from the newest. */
    refund: fc.option(fc.nat(4), { freq: 5 }),
  }),
  { minLength: 60, maxLength: 120, size: 'max' },
);

/** Two configurations of a rule: often only the limits differ. */
const configurations = (name: AlgorithmName) =>
  fc
    .tuple(rules(fc.constant(name)), rules(fc.constant(name)), fc.boolean())
    .map(([one, other, isLimit]): [RuleSketch, RuleSketch] => {
      const first = { ...one, limit: Math.max(1, one.limit % 1000), shadow: false, block: undefined };
      const base = isLimit ? first : other;
      return [
        { ...first, overdraft: undefined },
        {
          ...base,
          limit: Math.max(1, other.limit % 1000),
          shadow: false,
          block: undefined,
          overdraft: undefined,
        },
      ];
    })
    .filter((both) => !both.some(isShared));

interface Charge {
  /** Microseconds that have really passed. */
  readonly at: number;
  /** How often the clock had been set. */
  readonly steps: number;
  readonly permits: number;
}

/** Plays the moves on two configurations of one rule. Returns the charges, and the waits that were not true. */
async function play(both: readonly [RuleSketch, RuleSketch], drawn: readonly Move[]) {
  let real = 0;
  let set = 0;
  let steps = 0;
  const now = (): number => START + real + set;
  const store = new MemoryStore({ clock: () => now() / 1000 });
  const versions = both.map((sketch) => ({ sketch, rule: compileRule(toRule(sketch)) }));
  const shortest = Math.min(...both.map(lengthOf));
  const charges: Charge[] = [];
  const lies: string[] = [];
  let open: { hit: Hit; result: HitResult }[] = [];
  let wait = 0;
  for (const { configuration, after, step, cost, refund } of drawn) {
    real += after === 'retry' ? wait : Math.floor((shortest * after) / 12);
    set += step * 1e6;
    if (step !== 0) steps += 1;
    const { rule } = versions[configuration]!;
    const parameters = rule.parametersAt?.(now() / 1000) ?? rule.parameters;
    const hit: Hit = { key: `{ann}:${rule.stateName}`, algorithm: rule.algorithm, parameters, cost };
    const [result] = store.decide([hit], {}) as [HitResult];
    wait = result.allowed ? 0 : (result.retryAfter ?? 0);
    if (result.allowed) {
      charges.push({ at: real, steps, permits: cost });
      open.unshift({ hit, result });
    } else if (result.retryAfter !== null) {
      real += wait;
      const [onTime] = store.decide([hit], { dryRun: true }) as [HitResult];
      real -= wait;
      if (!onTime.allowed) lies.push(`${JSON.stringify(hit)} waits ${wait} in vain`);
    }
    const charged = refund === null ? undefined : open[refund];
    if (!charged) continue;
    open = open.filter((each) => each !== charged);
    const [isRefunded] = await store.adjust([adjustmentOf(charged.hit, charged.result, 'refund')]);
    if (isRefunded) charges.push({ at: real, steps, permits: -charged.hit.cost });
  }
  await store.close();
  return { charges, lies };
}

type Move = typeof moves extends fc.Arbitrary<(infer Each)[]> ? Each : never;

/** The most permits that a rule may allow in a time without steps of the clock. */
function mostOf(sketch: RuleSketch): (time: number) => number {
  const { algorithm, limit } = sketch;
  const { capacity } = compileRule(toRule(sketch));
  const length = lengthOf(sketch) * (sketch.calendar ? 0.7 : 1); // The shortest February of a month.
  const definition = algorithms[algorithm];
  if (definition.bound === 'rate') {
    const isInterval = sketch.refill === 'interval' || sketch.warmUp !== undefined;
    // A queue may be longer than whole permits.
    const more = (isInterval ? limit : 0) + (algorithm === 'leaky-bucket' ? 1 : 0);
    return (time) => capacity + (limit * time) / length + more;
  }
  const more = definition.bound === 'each window' ? 2 : 1;
  return (time) => limit * (Math.floor(time / length) + more) * ('exact' in definition ? 2 : 1);
}

/** Returns the first span of charges that exceeds the sum of both rules, and one capacity for each step of the clock. */
function excessOf(charges: readonly Charge[], both: readonly RuleSketch[]): string | undefined {
  const rules = both.map((sketch) => {
    const { stateName, capacity } = compileRule(toRule(sketch));
    return { stateName, capacity, most: mostOf(sketch) };
  });
  const isOne = rules[0]!.stateName === rules[1]!.stateName;
  const join = isOne ? (...each: number[]) => Math.max(...each) : (...each: number[]) => each[0]! + each[1]!;
  const capacity = join(...rules.map((rule) => rule.capacity));
  for (const [first, { at, steps }] of charges.entries()) {
    let sum = 0;
    for (const charge of charges.slice(first)) {
      sum += charge.permits;
      const time = charge.at - at;
      const most = join(...rules.map((rule) => rule.most(time))) + (charge.steps - steps) * capacity;
      if (sum > most + 1e-6) return `${sum} of ${most} in ${time}`;
    }
  }
  return undefined;
}

describe('two configurations of a rule that alternate on one subject, with refunds and steps of the clock', () => {
  it.each(names)(
    '%s allows at most the sum of both, and one capacity for each step of the clock; every wait is true',
    async (name) => {
      const property = fc.asyncProperty(configurations(name), moves, async (both, drawn) => {
        const { charges, lies } = await play(both, drawn);
        expect(lies).toEqual([]);
        expect(excessOf(charges, both)).toBeUndefined();
      });
      await fc.assert(property, { ...FORWARD, numRuns: 150 });
    },
    120_000,
  );
});
