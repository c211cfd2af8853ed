// What do three rules of a request cost, compared with one? Ours are decided together, rate-limiter-flexible
// is called three times.
//
//   node bench/three-rules.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { contest, timesOf } from './contest.mjs';
import { flexible, ours } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const ROUNDS = asked.quick ? 1 : 5;

const LIMITERS = { 'this library': ours, 'rate-limiter-flexible': flexible };

const server = await startMeasuredServer();
const entries = Object.entries(LIMITERS).flatMap(([limiter, of]) =>
  [1, 3].map((rules) => ({ row: { limiter, rules }, open: of({ rules }) })),
);
const measured = await contest(entries, {
  server,
  subjects: subjectsOf(KEYS),
  limit: 100_000,
  allowed: true,
  lanes: LANES,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 700,
});
await server.stop();

const rows = measured.map((row) => {
  const one = measured.find(({ limiter, rules }) => limiter === row.limiter && rules === 1);
  return {
    ...row,
    clientTimes: timesOf(row, one, 'clientMicros'),
    serverTimes: timesOf(row, one, 'serverMicros'),
  };
});
report(machine({ redis: server.version, subjects: KEYS, 'in flight': LANES, rounds: ROUNDS }), rows, {
  limiter: (row) => row.limiter,
  rules: (row) => String(row.rules),
  ...FIGURES,
  'client, to one rule': (row) => times(row.clientTimes),
  'server, to one rule': (row) => times(row.serverTimes),
});
