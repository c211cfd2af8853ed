// What does a decision cost as its rules become more? Ours are decided together, rate-limiter-flexible is
// called once for each.
//
//   node bench/growth-rules.mjs [--quick] [--json]
import { FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { flexible, ours } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 100 : 1_000;
const LANES = 64;
const ROUNDS = asked.quick ? 1 : 3;
const RULES = asked.quick ? [1, 8] : [1, 2, 4, 6, 8];

const LIMITERS = { 'this library': ours, 'rate-limiter-flexible': flexible };

const server = await startMeasuredServer();
const entries = Object.entries(LIMITERS).flatMap(([limiter, of]) =>
  RULES.map((rules) => ({ row: { limiter, rules }, open: of({ rules }) })),
);
const rows = await contest(entries, {
  server,
  subjects: subjectsOf(KEYS),
  once: true,
  limit: 100_000,
  allowed: true,
  lanes: LANES,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 400,
});
await server.stop();

report(machine({ redis: server.version, subjects: KEYS, 'in flight': LANES, rounds: ROUNDS }), rows, {
  limiter: (row) => row.limiter,
  rules: (row) => String(row.rules),
  ...FIGURES,
});
