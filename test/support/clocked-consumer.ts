import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { DecideOptions } from './timeline.js';

/**
 * Returns a function that consumes permits of a rule from a memory store. Each call sets the clock: to milliseconds after
 * an instant, which may be earlier than those of the last call.
 */
export function clockedConsumer(rule: Rule, start: number): DecideOptions {
  let now = start;
  const store = new MemoryStore({ clock: () => now });
  const limiter = new RateLimiter({ store, denyCache: false });
  return (at, cost) => {
    now = start + at;
    return limiter.consume(rule, 'ann', { cost });
  };
}
