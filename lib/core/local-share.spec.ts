import { describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimitConfigError, RateLimiter, type Rule, type Store } from '../index.js';

/** A store that all processes share, and that has gone; it knew how many there are. */
class LostStore extends MemoryStore implements Store {
  override readonly source = 'redis' as never;

  constructor(private readonly instances: number) {
    super();
  }

  override decide(): never {
    throw new Error('gone');
  }

  async heartbeat(): Promise<number> {
    return this.instances;
  }
}

const ALGORITHMS = [
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'sliding-window-cells',
  'token-bucket',
  'gcra',
  'leaky-bucket',
] as const;

/** A process among so many, with a clock that stands still. */
async function processAmong(instances: number, rule: Rule) {
  const fallback = new MemoryStore({ clock: () => 1_700_000_000_000 });
  const limiter = new RateLimiter({ store: new LostStore(instances), fallback });
  await limiter.peek(rule, 'nobody'); // Begins to count the others.
  return limiter;
}

describe("a rule with onStoreError 'local', while the store is gone", () => {
  it.each(ALGORITHMS)('lets a process have its part of the limit, by %s', async (algorithm) => {
    const rule = { algorithm, limit: 10, window: '1m', onStoreError: 'local' } as Rule;
    const limiter = await processAmong(3, rule);
    const decisions = [];
    for (let nth = 1; nth <= 4; nth++) decisions.push(await limiter.consume(rule, 'ann'));
    expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'memory'],
      [true, 'memory'],
      [true, 'memory'],
      [false, 'memory'],
    ]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0]);
  });

  it('lets one hit through at a time where there are more processes than permits', async () => {
    const rule: Rule = { algorithm: 'fixed-window', limit: 2, window: '1m', onStoreError: 'local' };
    const limiter = await processAmong(100, rule);
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, limit: 1 });
    expect(await limiter.consume(rule, 'bob', { cost: 2 })).toMatchObject({ allowed: true });
    expect(await limiter.consume(rule, 'cid', { cost: 3 })).toMatchObject({ retryAfterMs: null });
  });

  it('gives back what it charged itself', async () => {
    const rule: Rule = { algorithm: 'fixed-window', limit: 9, window: '1m', onStoreError: 'local' };
    const limiter = await processAmong(3, rule);
    const reservation = await limiter.reserve(rule, 'ann', { cost: 3 });
    await reservation.settle(1);
    expect(await limiter.peek(rule, 'ann')).toMatchObject({ remaining: 2 });
    const decision = await limiter.consume(rule, 'ann', { cost: 2 });
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.peek(rule, 'ann')).toMatchObject({ remaining: 2 });
  });

  it('is charged nothing where another rule of the request is refused', async () => {
    const local: Rule = { name: 'local', algorithm: 'gcra', limit: 5, window: '1m', onStoreError: 'local' };
    const strict: Rule = { name: 'strict', algorithm: 'gcra', limit: 5, window: '1m', onStoreError: 'deny' };
    const limiter = await processAmong(1, local);
    expect(await limiter.consume([local, strict], 'ann')).toMatchObject({
      allowed: false,
      rule: 'strict',
      source: 'policy',
      decisions: [
        { rule: 'local', allowed: true, remaining: 5, source: 'memory' },
        { rule: 'strict', allowed: false, retryAfterMs: 1000, source: 'policy' },
      ],
    });
  });

  it('goes together with rules that let through, whose figures nobody knows', async () => {
    const local: Rule = { name: 'local', algorithm: 'gcra', limit: 5, window: '1m', onStoreError: 'local' };
    const open: Rule = { name: 'open', algorithm: 'gcra', limit: 5, window: '1m' };
    const limiter = await processAmong(1, local);
    expect(await limiter.consume([open, local], 'ann')).toMatchObject({
      allowed: true,
      rule: 'local',
      source: 'memory',
    });
  });

  it('cannot be without a store to count in', () => {
    const limiter = new RateLimiter({ store: new LostStore(1), onStoreError: 'local' });
    return expect(limiter.consume({ limit: 1, window: '1s' }, 'ann')).rejects.toThrow(
      new RateLimitConfigError(['fallback: missing; allowed with onStoreError "local": a MemoryStore']),
    );
  });
});
