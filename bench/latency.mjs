// How long does one decision take when nothing else is asked? Beside a PING, which is the way there and back.
//
//   node bench/latency.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { bareOneByOne, flexible, ours, ping } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 100 : 1_000;
const ROUNDS = asked.quick ? 1 : 5;

const CONTESTANTS = {
  PING: ping,
  'bare GCRA': bareOneByOne,
  'this library': ours(),
  'rate-limiter-flexible': flexible(),
};

const server = await startMeasuredServer();
const rows = await contest(
  Object.entries(CONTESTANTS).map(([limiter, open]) => ({ row: { limiter }, open })),
  {
    server,
    subjects: subjectsOf(KEYS),
    limit: 100_000,
    allowed: true,
    lanes: 1,
    every: 1,
    rounds: ROUNDS,
    ms: asked.quick ? 100 : 700,
  },
);
await server.stop();

report(
  machine({ redis: server.version, keys: KEYS, 'in flight': 1, rounds: ROUNDS }),
  compared(rows, 'p50', () => rows[0]),
  { 'one at a time': (row) => row.limiter, ...FIGURES, 'PING, p50': (row) => times(row.times) },
);
