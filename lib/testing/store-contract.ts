import '../limiter/every-part.js';
import { deepStrictEqual } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import type { Clock } from '../contracts/clock.js';
import type { Decision } from '../contracts/decision.js';
import type { BaseStore } from '../contracts/base-store.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { BlockingRule, Rule } from '../rules/rule.js';
import { MemoryStore } from '../stores/memory/memory.store.js';

/** Returns a function that draws integers from 0 to below a bound: the same sequence in every run. */
export function draws(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What the contract of a store needs. */
export interface StoreContract {
  /** Opens a store whose time is this clock. The contract closes it. */
  readonly open: (clock: Clock) => BaseStore | Promise<BaseStore>;
  /** `it` or `test` of Jest, Vitest or `node:test`. */
  readonly it: (title: string, test: () => Promise<void>) => unknown;
}

type Play = (limiter: RateLimiter, advance: (milliseconds: number) => void) => Promise<unknown[]>;

const STEPS = 200;

const START = Date.UTC(2030, 0, 1, 12);

const limits = { limit: 5, window: '10s' } as const;

const windowed = (Object.keys(algorithms) as AlgorithmName[]).filter((name) => name !== 'concurrency');

/**
 * Defines the tests that every store passes: it has to decide like the memory store, on timelines of every algorithm.
 *
 * @example
 * describe('MyStore', () => storeContract({ it, open: (clock) => new MyStore({ clock }) }));
 */
export function storeContract({ open, it }: StoreContract): void {
  const define = (title: string, play: Play): void => {
    it(title, async () => deepStrictEqual(await played(open, play), await played(memory, play)));
  };
  for (const algorithm of windowed) {
    const rule = { ...limits, name: algorithm, algorithm } as Rule;
    define(`decides ${algorithm} like the memory store`, (...on) => consume([rule], ...on));
  }
  const log: Rule = { ...limits, name: 'log', algorithm: 'sliding-window-log' };
  const gcra: Rule = { ...limits, name: 'gcra', algorithm: 'gcra', limit: 3 };
  define('charges no rule of a request that one rule denies', (...on) => consume([log, gcra], ...on));
  define('charges a rule in shadow mode without denying', (...on) =>
    consume([log, { ...gcra, mode: 'shadow' }], ...on),
  );
  define('blocks, and allows again when the block ends', (...on) => block({ ...log, block: '20s' }, ...on));
  define('holds permits of concurrency until they are released', hold);
}

const memory = (clock: Clock): BaseStore => new MemoryStore({ clock });

/** Plays on a new store; returns everything that it decided. */
async function played(open: StoreContract['open'], play: Play): Promise<unknown[]> {
  let now = START;
  const store = await open(() => now);
  const limiter = new RateLimiter({ store, prefix: `contract-${randomUUID()}:`, denyCache: false });
  try {
    return await play(limiter, (milliseconds) => (now += milliseconds));
  } finally {
    await limiter.close();
    await store.close();
  }
}

const consume = async (rules: readonly Rule[], ...[limiter, advance]: Parameters<Play>) => {
  const draw = draws();
  const decided: unknown[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    advance(draw(2500));
    const subject = `subject-${draw(2)}`;
    const cost = 1 + draw(3);
    const turn = draw(10);
    if (turn === 0) decided.push(await limiter.reset(rules, subject));
    else if (turn < 3) decided.push(resultsOf(await limiter.peek(rules, subject, { cost })));
    else decided.push(resultsOf(await limiter.consume(rules, subject, { cost })));
  }
  return decided;
};

const block = async (rule: BlockingRule & Rule, ...[limiter, advance]: Parameters<Play>) => {
  const decided: unknown[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    if (step === STEPS / 2) await limiter.block(rule, 'subject', '1m');
    if (step === STEPS * 0.75) decided.push(await limiter.unblock(rule, 'subject'));
    decided.push(resultsOf(await limiter.consume(rule, 'subject')));
    advance(500);
  }
  return decided;
};

async function hold(limiter: RateLimiter): Promise<unknown[]> {
  const rule = { name: 'jobs', algorithm: 'concurrency', limit: 2 } as const;
  const permits = [];
  for (let nth = 0; nth < 3; nth += 1) permits.push(await limiter.hold(rule, 'subject'));
  await permits[0]!.release();
  permits.push(await limiter.hold(rule, 'subject'));
  const decided = permits.map(({ decision }) => decision.allowed);
  for (const permit of permits) await permit.release();
  return decided;
}

/** A decision without the name of the store. */
function resultsOf({ source: _source, ...decision }: Decision): unknown {
  return decision;
}
