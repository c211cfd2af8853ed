// Measures the cost of a decision in memory, on many keys and on one hot key.
//
//   node bench/memory.mjs [--quick] [--json]
import { count, FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { inMemory } from './deciding-processes.mjs';
import { entriesOnKeys } from './entries.mjs';
import { comparedWithPeer, TO_PEER } from './peer.mjs';
import { asked, machine, report } from './report.mjs';

const KEYS = asked.quick ? [1_000, 1] : [10_000, 1];
const TIMES = asked.quick ? { rounds: 1, ms: 50 } : { rounds: 5, ms: 500 };

const CONTESTANTS = {
  'this library': { open: inMemory('ours') },
  'bare GCRA in a map': { open: inMemory('bareMap') },
  'rate-limiter-flexible': { open: inMemory('flexible') },
  '@nestjs/throttler': { open: inMemory('throttler') },
  'express-rate-limit': { open: inMemory('expressRateLimit') },
};

const setting = { ...TIMES, limit: 90_000_000, allowed: true, lanes: 1, every: 61 };
const rows = await contest(entriesOnKeys(CONTESTANTS, KEYS), setting);

const figures = Object.fromEntries(Object.entries(FIGURES).filter(([title]) => title !== 'server µs'));
report(machine({ 'in flight': 1, rounds: TIMES.rounds }), comparedWithPeer(rows), {
  'in memory': (row) => row.limiter,
  keys: (row) => count(row.keys),
  ...figures,
  ...TO_PEER,
});
