// An application under load, in a separate process, so that its handles and its heap belong to the library. Its parent causes the faults and sends `{ command, value }`; the application replies when a command is complete.
//
//   node --expose-gc application.mjs '{ "url", "inFlight", "hasOwnClock" }'
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';
import { Load } from './load.mjs';

const { url, inFlight, hasOwnClock } = JSON.parse(process.argv[2]);
let stepMs = 0;
const clock = hasOwnClock ? () => Date.now() + stepMs : undefined;
const store = new RedisStore({ redis: url, timeout: 50, ...(clock && { clock }) });
const limiter = new RateLimiter({ store, prefix: 'faults:', onStoreError: 'allow' });
const load = new Load(limiter, inFlight);
const breaker = [];
const warnings = [];
limiter.events.on('breaker', ({ state, error }) => {
  breaker.push({ state, at: performance.now(), cause: error?.kind });
});
process.on('warning', ({ message }) => warnings.push(message));

const commands = {
  start: () => load.start(),
  phase: (name) => load.begin(name),
  step: (milliseconds) => (stepMs = milliseconds),
  figures: () => ({ phases: load.figures(), breaker, warnings }),
  tallies: () => load.tallies(),
  /** The handles and the heap of the idle process. */
  async rest() {
    await load.stop();
    await sleep(0); // Collects the garbage of the last hits.
    globalThis.gc();
    return { handles: process.getActiveResourcesInfo().toSorted(), heap: process.memoryUsage().heapUsed };
  },
  /**
   * Closes everything while hits are in flight. After that, no handle of the library may keep the process running.
   */
  async shutDown() {
    const startedAt = performance.now();
    const stopped = Promise.all([load.burst(), load.stop()]);
    const { underWay } = load;
    await Promise.all([limiter.close(), store.close()]);
    await stopped;
    const settledMs = performance.now() - startedAt;
    // On a busy machine, the breaker may have opened and closed before.
    const turns = breaker.filter(({ at }) => at >= startedAt);
    return { underWay, settledMs, phases: load.figures(), breaker: turns, warnings };
  },
};

await store.ready();
process.on('message', async ({ command, value }) => {
  const answer = await commands[command](value);
  process.send({ answer }, () => {
    if (command === 'shutDown') process.disconnect();
  });
});
process.send('ready');
