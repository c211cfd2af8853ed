// Measures the cost of an allowed decision: one process, one rule, many keys, many decisions in flight.
//
//   node bench/decisions.mjs [--quick] [--json]
import { FIGURES } from './columns.mjs';
import { ALL_LET_IN } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { onRedis } from './deciding-processes.mjs';
import { entriesOf } from './entries.mjs';
import { comparedWithPeer, TO_PEER } from './peer.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, ms: 1000 };

const CONTESTANTS = {
  'this library': onRedis('ours', {}),
  'bare GCRA, one call a turn': onRedis('bareByTurns'),
  'bare GCRA, one call each': onRedis('bareOneByOne'),
  'rate-limiter-flexible': onRedis('flexible', {}),
  'rate-limit-redis': onRedis('rateLimitRedis'),
  '@nest-lab/throttler-storage-redis': onRedis('nestLab'),
};

const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), lanes: LANES };
const { rows, redis } = await contestOnRedis(entriesOf(CONTESTANTS), setting);

const conditions = machine({ redis, keys: KEYS, 'in flight': LANES, rounds: TIMES.rounds });
report(conditions, comparedWithPeer(rows), {
  allowed: (row) => row.limiter,
  ...FIGURES,
  ...TO_PEER,
});
