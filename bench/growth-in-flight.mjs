// Measures the cost and the latency of a decision by the number of decisions in flight.
//
//   node bench/growth-in-flight.mjs [--quick] [--json]
import { count, FIGURES } from './columns.mjs';
import { ALL_LET_IN } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { bareByTurns, flexible, ours } from './contestants.mjs';
import { entriesAtSizes } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = 1_000;
const LANES = asked.quick ? [1, 1_024] : [1, 4, 16, 64, 256, 1_024];
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 400 };

const CONTESTANTS = {
  'this library': ours(),
  'bare GCRA, one call a turn': bareByTurns,
  'rate-limiter-flexible': flexible(),
};

const entries = entriesAtSizes(CONTESTANTS, 'inFlight', LANES, (open, lanes) => ({ open, lanes }));
const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), once: true };
const { rows, redis } = await contestOnRedis(entries, setting);

report(machine({ redis, keys: KEYS, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  'in flight': (row) => count(row.inFlight),
  ...FIGURES,
});
