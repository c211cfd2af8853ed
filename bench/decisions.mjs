// What does a decision cost that is let in? One process, one rule, many keys, many in flight.
//
//   node bench/decisions.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { bareByTurns, bareOneByOne, flexible, nestLab, ours, rateLimitRedis } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const ROUNDS = asked.quick ? 1 : 5;

const CONTESTANTS = {
  'this library': ours(),
  'bare GCRA, one call a turn': bareByTurns,
  'bare GCRA, one call each': bareOneByOne,
  'rate-limiter-flexible': flexible(),
  'rate-limit-redis': rateLimitRedis,
  '@nest-lab/throttler-storage-redis': nestLab,
};

const server = await startMeasuredServer();
const rows = await contest(
  Object.entries(CONTESTANTS).map(([limiter, open]) => ({ row: { limiter }, open })),
  {
    server,
    subjects: subjectsOf(KEYS),
    limit: 100_000,
    allowed: true,
    lanes: LANES,
    rounds: ROUNDS,
    ms: asked.quick ? 100 : 1000,
  },
);
await server.stop();

const peer = rows.find(({ limiter }) => limiter === 'rate-limiter-flexible');
report(
  machine({ redis: server.version, keys: KEYS, 'in flight': LANES, rounds: ROUNDS }),
  compared(rows, 'perSecond', () => peer),
  {
    'let in': (row) => row.limiter,
    ...FIGURES,
    'rate-limiter-flexible': (row) => times(row.times),
  },
);
