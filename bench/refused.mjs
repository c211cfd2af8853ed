// Measures the cost of a denied decision. Some limiters cache denials in the process.
//
//   node bench/refused.mjs [--quick] [--json]
import { count, FIGURES } from './columns.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { onRedis } from './deciding-processes.mjs';
import { entriesOnKeys } from './entries.mjs';
import { comparedWithPeer, TO_PEER } from './peer.mjs';
import { asked, machine, report } from './report.mjs';

const KEYS = asked.quick ? [1_000, 1] : [10_000, 1];
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, ms: 500 };

/** `passes`: after this many hits per key, all further hits are denied. */
const CONTESTANTS = {
  'this library': { open: onRedis('ours', {}), passes: 3 }, // The first denial makes it subscribe to changes.
  'bare GCRA, one call a turn': { open: onRedis('bareByTurns'), passes: 1 },
  'rate-limiter-flexible, blocks in memory': {
    open: onRedis('flexible', { blocksInMemory: true }),
    passes: 2,
  },
  'rate-limiter-flexible': { open: onRedis('flexible', {}), passes: 1 },
};

const setting = { ...TIMES, limit: 1, allowed: false, lanes: LANES, every: 61 };
const { rows, redis } = await contestOnRedis(entriesOnKeys(CONTESTANTS, KEYS), setting);

report(machine({ redis, 'in flight': LANES, rounds: TIMES.rounds }), comparedWithPeer(rows), {
  denied: (row) => row.limiter,
  keys: (row) => count(row.keys),
  ...FIGURES,
  ...TO_PEER,
});
