// What does a decision cost, and how long does it take, as more of them are in flight?
//
//   node bench/growth-in-flight.mjs [--quick] [--json]
import { count, FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { bareByTurns, flexible, ours } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = 1_000;
const LANES = asked.quick ? [1, 1_024] : [1, 4, 16, 64, 256, 1_024];
const ROUNDS = asked.quick ? 1 : 3;

const CONTESTANTS = {
  'this library': ours(),
  'bare GCRA, one call a turn': bareByTurns,
  'rate-limiter-flexible': flexible(),
};

const server = await startMeasuredServer();
const entries = Object.entries(CONTESTANTS).flatMap(([limiter, open]) =>
  LANES.map((lanes) => ({ row: { limiter, inFlight: lanes }, open, lanes })),
);
const rows = await contest(entries, {
  server,
  subjects: subjectsOf(KEYS),
  once: true,
  limit: 100_000,
  allowed: true,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 400,
});
await server.stop();

report(machine({ redis: server.version, keys: KEYS, rounds: ROUNDS }), rows, {
  limiter: (row) => row.limiter,
  'in flight': (row) => count(row.inFlight),
  ...FIGURES,
});
