// Measures the cost of three rules of a request, compared with one. This library decides them together; rate-limiter-flexible is called three times.
//
//   node bench/three-rules.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { ALL_LET_IN, timesOf } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { onRedis } from './deciding-processes.mjs';
import { entriesAtSizes } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, ms: 700 };

const LIMITERS = { 'this library': 'ours', 'rate-limiter-flexible': 'flexible' };

const entries = entriesAtSizes(LIMITERS, 'rules', [1, 3], (name, rules) => ({
  open: onRedis(name, { rules }),
}));
const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), lanes: LANES };
const { rows: measured, redis } = await contestOnRedis(entries, setting);

const rows = measured.map((row) => {
  const one = measured.find(({ limiter, rules }) => limiter === row.limiter && rules === 1);
  return {
    ...row,
    clientTimes: timesOf(row, one, 'clientMicros'),
    serverTimes: timesOf(row, one, 'serverMicros'),
  };
});
report(machine({ redis, subjects: KEYS, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  rules: (row) => String(row.rules),
  ...FIGURES,
  'client, to one rule': (row) => times(row.clientTimes),
  'server, to one rule': (row) => times(row.serverTimes),
});
