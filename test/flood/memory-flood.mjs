// Sends requests of many different clients to a limiter with the memory store. After each tenth of them, prints the number of keys and the bytes of heap after a garbage collection.
//
//   node --expose-gc memory-flood.mjs CLIENTS MAX_KEYS
import { setImmediate as turn } from 'node:timers/promises';
import { ruleOf } from '../../dist/repository/example.js';
import { algorithms } from '../../dist/repository/registry.js';
import { MemoryStore } from '../../dist/esm/index.js';
import { RateLimiter } from '../../dist/esm/limiter.js';

const [clients, maxKeys] = process.argv.slice(2).map(Number);
const rules = Object.values(algorithms)
  .filter(({ leases }) => !leases)
  .map((algorithm) => {
    const quota = { limit: 1, windowMs: 60_000 };
    return { ...ruleOf(algorithm, algorithm.examples[0], quota), name: 'default', block: '1m' };
  });

const store = new MemoryStore({ maxKeys });
const limiter = new RateLimiter({ store });
const samples = [];
for (let part = 0; part < 10; part++) {
  let most = 0;
  for (let nth = (part * clients) / 10; nth < ((part + 1) * clients) / 10; nth++) {
    const rule = rules[nth % rules.length];
    await limiter.consume(rule, `client-${nth}`);
    if (nth % 2 === 0) await limiter.consume(rule, `client-${nth}`); // Denied, and blocked.
    most = Math.max(most, store.size);
    if (nth % 1000 === 0) await turn();
  }
  globalThis.gc();
  samples.push({ keys: most, heap: process.memoryUsage().heapUsed });
}
console.log(JSON.stringify(samples));
await store.close();
