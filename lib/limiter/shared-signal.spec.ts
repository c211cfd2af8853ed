import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore, type ConcurrencyRule, type Rule } from '../index.js';
import { RateLimiter } from '../limiter.js';

const WAITS = 30;
const HOUR = { window: '1h', limit: 1 } as const;
const RULES: readonly Rule[] = [
  { ...HOUR, algorithm: 'gcra', burst: 1 },
  { ...HOUR, algorithm: 'sliding-window-log' },
];
const lease: ConcurrencyRule = { algorithm: 'concurrency', limit: 1 };

describe('waits that share one signal', () => {
  it('add one listener to it, since Node.js warns of the eleventh, and end with its reason when it aborts', async () => {
    const limiter = new RateLimiter({ store: new MemoryStore() });
    const { signal, ...controller } = controlled();
    const waits: Promise<unknown>[] = [];
    for (let nth = 0; nth < WAITS; nth++) {
      const subject = `subject-${nth % 12}`;
      for (const rule of RULES) {
        await limiter.consume(rule, subject);
        waits.push(limiter.acquire(rule, subject, { signal }));
      }
      if (nth < 12) await limiter.hold(lease, subject);
      waits.push(limiter.hold(lease, subject, { maxWait: '1m', signal }));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort(new Error('gone'));
    const ends = await Promise.allSettled(waits);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(3 * WAITS);
    await limiter.close();
  });
});

describe('an abort while the store decides', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it.each(RULES)('ends an acquire without a timer: $algorithm', async (rule) => {
    const memory = new MemoryStore();
    const { signal, abort } = controlled();
    let isArmed = false;
    const decide: MemoryStore['decide'] = (hits, options) => {
      const results = memory.decide(hits, options);
      if (isArmed) abort(new Error('gone'));
      return results;
    };
    const store = Object.assign(Object.create(memory) as MemoryStore, { decide });
    const limiter = new RateLimiter({ store, denyCache: false });
    await limiter.consume(rule, 'ann');
    isArmed = true;
    await expect(limiter.acquire(rule, 'ann', { signal })).rejects.toThrow('gone');
    await limiter.close();
  });
});

function controlled(): { signal: AbortSignal; abort: (reason: Error) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
