// Sends requests of many clients to a limiter with the memory store and the default algorithm, up to the limit of each client, a hundred clients at a time. After each tenth of them, prints the number of keys and the bytes of heap after a garbage collection.
//
//   node --expose-gc memory-log-flood.mjs CLIENTS MAX_KEYS
import { setImmediate as turn } from 'node:timers/promises';
import { MemoryStore } from '../../dist/esm/index.js';
import { RateLimiter } from '../../dist/esm/limiter.js';

const AT_A_TIME = 100;
const [clients, maxKeys] = process.argv.slice(2).map(Number);
const rule = { limit: 1000, window: '1d' };

const store = new MemoryStore({ maxKeys });
const limiter = new RateLimiter({ store });
const heap = () => (globalThis.gc(), process.memoryUsage().heapUsed);

await limiter.consume(rule, 'before');
const before = heap();
const samples = [];
for (let first = 0; first < clients; first += AT_A_TIME) {
  for (let times = 0; times < rule.limit; times++) {
    for (let nth = first; nth < first + AT_A_TIME; nth++) await limiter.consume(rule, `client-${nth}`);
    if (times % 10 === 0) await turn();
  }
  const isTenth = Math.floor((first + AT_A_TIME) / (clients / 10)) > Math.floor(first / (clients / 10));
  if (isTenth) samples.push({ keys: store.size, heap: heap() - before });
}
console.log(JSON.stringify(samples));
await limiter.close();
await store.close();
