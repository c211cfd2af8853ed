import { describe, expect, it } from '@jest/globals';
import { ruleOf } from '../algorithms/example.js';
import { algorithms } from '../algorithms/registry.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { compileRule } from '../rules/compile-rule.js';
import type { Rule } from '../rules/rule.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { newRecord, decide, DELAYED, DENIED, type Outcome } from './clients.js';

const START = 1_700_000_000_000;
const quota = { limit: 5, windowMs: 1000 };

const rules = Object.values(algorithms)
  .filter((algorithm) => !('leases' in algorithm))
  .flatMap((algorithm) => algorithm.examples.map((example) => ruleOf(algorithm, example, quota)))
  .flatMap((rule) => [rule, { ...rule, name: `${String(rule['name'])} and a block`, block: '2s' }])
  .filter((rule) => !('prefetch' in rule)) as unknown as (Rule & { name: string })[];

/** Instants with bursts, gaps and a steady pace, in milliseconds. */
const instants = Array.from({ length: 200 }, (_, n) => START + n * 37 + Math.floor(n / 50) * 1900 + (n % 3));

describe('a simulated decision', () => {
  it.each(rules.map((rule) => [rule.name, rule] as const))(
    'is that of a limiter in memory: %s',
    async (_name, rule) => {
      let now = START;
      const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
      const compiled = compileRule(rule);
      const record = newRecord();
      const [simulated, decided]: Outcome[][] = [[], []];
      for (now of instants) {
        simulated!.push(decide(compiled, record, now * 1000));
        const { allowed, delayMs } = await limiter.consume(rule, 'ann');
        decided!.push(allowed ? (delayMs > 0 ? DELAYED : 0) : DENIED);
      }
      expect(simulated).toEqual(decided);
      expect(record.denied).toBe(decided!.filter((outcome) => outcome === DENIED).length);
      await limiter.close();
    },
  );
});
