// Measures the cost of a reservation of three rules, compared with a decision of the same rules.
//
//   node bench/reservations.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { ALL_LET_IN, timesOf } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { onRedis } from './deciding-processes.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 3, ms: 200 } : { rounds: 9, ms: 700 };

const entries = [
  { row: { operation: 'a decision' }, open: onRedis('ours', { rules: 3 }) },
  { row: { operation: 'a decision, costs by rule name' }, open: onRedis('ours', { rules: 3, named: true }) },
  { row: { operation: 'a reservation' }, open: onRedis('ours', { rules: 3, reserves: true }) },
];
const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), lanes: LANES };
const { rows: measured, redis } = await contestOnRedis(entries, setting);

const rows = measured.map((row) => ({
  ...row,
  clientTimes: timesOf(row, measured[0], 'clientMicros'),
  serverTimes: timesOf(row, measured[0], 'serverMicros'),
}));
report(machine({ redis, subjects: KEYS, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  operation: (row) => row.operation,
  ...FIGURES,
  'client, to a decision': (row) => times(row.clientTimes),
  'server, to a decision': (row) => times(row.serverTimes),
});
