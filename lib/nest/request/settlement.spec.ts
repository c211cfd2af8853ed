import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { compileRule } from '../../rules/compile-rule.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import type { AnyRule } from '../../rules/rule.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import type { AppliedLimit } from './applied-limit.js';
import { Exchange, WITHOUT_CLIENT } from './exchange.js';
import { InvalidValues } from './invalid-values.js';
import type { CountWhen } from '../rules/route-rule.js';
import { Settlement } from './settlement.js';
import { Warnings } from '../warnings.js';

const warnings = new Warnings({ warnings: { RL_NEVER_SETTLED: false } });
const invalid = new InvalidValues(warnings, {});

const MESSAGE = new Exchange({} as ExecutionContext, WITHOUT_CLIENT);

const MINUTE = { window: '1m', limit: 3, algorithm: 'fixed-window' } as const;
const HELD = { limit: 1, algorithm: 'concurrency', lease: '30s' } as const;

/** Applies rules to a message without a response, such as one of a microservice, and settles it. */
async function settle(rule: AnyRule, count: CountWhen = 'all') {
  let now = 1_700_000_000_000;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
  const decision = await limiter.decide(limiter.keyed(compileRule(rule)).hits('queue'));
  const limit = { name: 'default', names: ['default'], isHeld: rule.algorithm === 'concurrency', count };
  await new Settlement(limiter, invalid, warnings).settle(MESSAGE, decision, [
    limit as unknown as AppliedLimit,
  ]);
  return {
    left: async () => (await limiter.peek(rule, 'queue')).remaining,
    advance: (milliseconds: number) => (now += milliseconds),
  };
}

describe('a message that has no response to wait for', () => {
  it.each(['failures', 'successes'] as const)(
    'is charged, whether or not it counted by %s',
    async (count) => {
      const { left } = await settle(MINUTE, count);
      expect(await left()).toBe(2);
    },
  );

  it('is charged without its function being asked, which could be told nothing', async () => {
    const count = jest.fn(() => false);
    const { left } = await settle(MINUTE, count);
    expect(await left()).toBe(2);
    expect(count).not.toHaveBeenCalled();
  });

  it('holds its permit until the lease ends, and no longer', async () => {
    const { left, advance } = await settle(HELD);
    advance(29_999);
    expect(await left()).toBe(0);
    advance(1);
    expect(await left()).toBe(1);
  });

  it('is delayed until its turn', async () => {
    const queue: AnyRule = { window: '1s', limit: 20, algorithm: 'leaky-bucket' };
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => 0 }) });
    const delay = jest.spyOn(limiter, 'delay').mockResolvedValue();
    const settlement = new Settlement(limiter, invalid, warnings);
    const hits = limiter.keyed(compileRule(queue)).hits('queue');
    for (let nth = 1; nth <= 3; nth++) {
      await settlement.settle(MESSAGE, await limiter.decide(hits), []);
    }
    expect(delay.mock.calls.map(([{ delayMs }]) => delayMs)).toEqual([50, 100]);
  });
});
