import { describe, expect, it } from '@jest/globals';
import { ruleOf } from '../../test/support/example-rule.js';
import { algorithms } from '../algorithms/registry.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { compileRule } from '../rules/compile-rule.js';
import type { Rule } from '../rules/rule.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { ReplayedCounter } from './counter.js';

const START = 1_700_000_000_000;
const quota = { limit: 5, windowMs: 1000 };

const rules = Object.values(algorithms)
  .filter((algorithm) => !('leases' in algorithm))
  .flatMap((algorithm) => algorithm.examples.map((example) => ruleOf(algorithm, example, quota)))
  .flatMap((rule) => [rule, { ...rule, name: `${String(rule['name'])} and a block`, block: '2s' }])
  .filter((rule) => !('prefetch' in rule)) as unknown as (Rule & { name: string })[];

/** Instants with bursts, gaps and a steady pace, in milliseconds. */
const instants = Array.from({ length: 200 }, (_, n) => START + n * 37 + Math.floor(n / 50) * 1900 + (n % 3));

describe('a replayed decision', () => {
  it.each(rules.map((rule) => [rule.name, rule] as const))(
    'is that of a limiter in memory: %s',
    async (_name, rule) => {
      let now = START;
      const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
      const compiled = compileRule(rule);
      const counter = new ReplayedCounter();
      let denied = 0;
      for (now of instants) {
        const step = counter.decide(compiled, now * 1000);
        const { allowed, delayMs } = await limiter.consume(rule, 'ann');
        expect(step?.allowed === true).toBe(allowed);
        expect(Math.ceil((step?.delay ?? 0) / 1000)).toBe(delayMs);
        if (!allowed) denied += 1;
      }
      expect(counter.denied).toBe(denied);
      await limiter.close();
    },
  );
});
