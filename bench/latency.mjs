// Measures the latency of single decisions, compared with a PING, which is only the round trip.
//
//   node bench/latency.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { ALL_LET_IN, compared } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { onRedis } from './deciding-processes.mjs';
import { entriesOf } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 100 : 1_000;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, ms: 700 };

const CONTESTANTS = {
  PING: onRedis('ping'),
  'bare GCRA': onRedis('bareOneByOne'),
  'this library': onRedis('ours', {}),
  'rate-limiter-flexible': onRedis('flexible', {}),
};

const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), lanes: 1, every: 1 };
const { rows, redis } = await contestOnRedis(entriesOf(CONTESTANTS), setting);

const [pinged] = rows;
const conditions = machine({ redis, keys: KEYS, 'in flight': 1, rounds: TIMES.rounds });
report(
  conditions,
  compared(rows, 'p50', () => pinged),
  { 'one at a time': (row) => row.limiter, ...FIGURES, 'PING, p50': (row) => times(row.times) },
);
