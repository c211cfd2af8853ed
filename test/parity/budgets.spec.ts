import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Reservation, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { BaseStore } from '../../lib/store.js';
import { DEFINITIONS } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { Ledger } from './ledger.js';

const STREAMS = { name: 'streams', algorithm: 'concurrency', limit: 4, lease: '1d' } as const;

/** A rule of each algorithm that decides at once, of a day. */
const DAILY = DEFINITIONS.filter(({ leases, options }) => !leases && !('queue' in options)).map(
  ({ name, bound }) => ({ bound, rule: { name, algorithm: name, window: '1d', limit: 500 } as Rule }),
);

/** The rules whose permits a list of charges foretells, as no timeline lasts a day, before all others. */
const LISTED: readonly AnyRule[] = [
  STREAMS,
  ...DAILY.filter(({ bound }) => bound !== 'rate').map(({ rule }) => rule),
];

const RULES: readonly AnyRule[] = [
  ...LISTED,
  ...DAILY.filter(({ bound }) => bound === 'rate').map(({ rule }) => rule),
  { name: 'short', algorithm: 'fixed-window', window: '10s', limit: 500 },
  { name: 'refilled', algorithm: 'gcra', window: '1m', limit: 500 },
];
const NAMES = RULES.map(({ name }) => name!).filter((name) => name !== 'streams');

type Costs = Readonly<Record<string, number>>;

const costs = (most: number): fc.Arbitrary<Costs> =>
  fc.dictionary(fc.constantFrom(...NAMES), fc.nat(most), { minKeys: 1, maxKeys: 4 });

const moves = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ does: fc.constant('reserve' as const), cost: costs(120) }) },
    {
      weight: 5,
      arbitrary: fc.record({ does: fc.constant('used' as const), nth: fc.nat(9), cost: costs(200) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ does: fc.constant('settle' as const), nth: fc.nat(9), cost: costs(160) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: fc.constantFrom('cancel' as const, 'end' as const), nth: fc.nat(9) }),
    },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('consume' as const), cost: costs(40) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        does: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 300, 999, 1000, 4000),
      }),
    },
  ),
  { minLength: 40, maxLength: 80, size: 'max' },
);

type Move = typeof moves extends fc.Arbitrary<(infer Each)[]> ? Each : never;

/** One store, and the reservations that are open there. */
class Player {
  private readonly open: Reservation<Costs>[] = [];

  constructor(
    private readonly limiter: RateLimiter,
    private readonly subject: string,
  ) {}

  /** Makes a move. Returns everything that a program sees of it. */
  async play(move: Move): Promise<unknown> {
    if (move.does === 'wait') return this.left();
    if (move.does === 'consume' || move.does === 'reserve') return this.charge(move.does, move.cost);
    const nth = move.nth % Math.max(1, this.open.length);
    const reservation = this.open[nth];
    if (!reservation) return [];
    if (move.does === 'used') {
      reservation.used(move.cost);
      await (reservation as unknown as { usage?: { sent?: Promise<void> } }).usage?.sent;
      return [reservation.used({}), await this.left()]; // The first call returns what the last report has found.
    }
    this.open.splice(nth, 1);
    if (move.does === 'settle') return [await reservation.settle(move.cost), await this.left()];
    if (move.does === 'cancel') return [await reservation.cancel(), await this.left()];
    await reservation[Symbol.asyncDispose]();
    return this.left();
  }

  private async charge(does: 'consume' | 'reserve', cost: Costs): Promise<unknown> {
    const rules = does === 'reserve' ? RULES : RULES.filter(({ name }) => name !== 'streams');
    const all = { ...Object.fromEntries(rules.map(({ name }) => [name, 1])), ...cost };
    if (does === 'consume') {
      const { allowed, rule } = await this.limiter.consume(rules as never, this.subject, { cost: all });
      return [allowed, rule, await this.left()];
    }
    const reservation = (await this.limiter.reserve(RULES, this.subject, {
      cost: all,
    })) as Reservation<Costs>;
    if (reservation.allowed) this.open.push(reservation);
    return [reservation.allowed, reservation.decision.rule, await this.left()];
  }

  async left(): Promise<number[]> {
    const { decisions } = await this.limiter.peek(RULES, this.subject, { cost: 0 });
    return decisions.map(({ remaining }) => remaining);
  }
}

describe('random reservations of all rules that are used, settled by name, cancelled and left', () => {
  const time = new VirtualTime();
  const start = time.now;
  let stores: readonly BaseStore[];
  let limiters: RateLimiter[];

  beforeAll(async () => {
    stores = [new MemoryStore({ clock: time.clock }), await openRedisStore({ clock: time.clock })];
    const prefix = uniquePrefix();
    limiters = stores.map(
      (store) => new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false }),
    );
  });
  afterAll(async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await Promise.all(stores.map((store) => store.close()));
  });

  it('are decided and charged the same in memory, in Redis and by a list of charges', async () => {
    let run = 0;
    const seen = new Set<string>();
    const foretold = LISTED.length;
    const property = fc.asyncProperty(moves, async (timeline) => {
      time.now = start; // so that no window ends
      const subject = `subject ${(run += 1)}`;
      const [memory, redis] = limiters.map((limiter) => new Player(limiter, subject));
      const ledger = new Ledger(RULES, time.clock);
      for (const move of timeline) {
        if (move.does === 'wait') time.advance(move.ms);
        const [here, there] = [await memory!.play(move), await redis!.play(move)];
        expect([move, here]).toEqual([move, there]);
        const left = await memory!.left();
        ledger.play(move, Array.isArray(here) && here[0] === true);
        expect([move, left.slice(0, foretold)]).toEqual([move, ledger.left().slice(0, foretold)]);
        seen.add(`${move.does} ${String(Array.isArray(here) ? here[0] : '')}`);
      }
    });
    await fc.assert(property, { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 60 });
    for (const event of [
      'reserve true',
      'reserve false',
      'used true',
      'used false',
      'settle true',
      'cancel true',
    ])
      expect(seen).toContain(event);
  }, 300_000);
});
