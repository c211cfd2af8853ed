// Measures the cost of a decision by its number of rules. This library decides them together; rate-limiter-flexible is called once for each.
//
//   node bench/growth-rules.mjs [--quick] [--json]
import { FIGURES } from './columns.mjs';
import { ALL_LET_IN } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { flexible, ours } from './contestants.mjs';
import { entriesAtSizes } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 100 : 1_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 400 };
const RULES = asked.quick ? [1, 8] : [1, 2, 4, 6, 8];

const LIMITERS = { 'this library': ours, 'rate-limiter-flexible': flexible };

const entries = entriesAtSizes(LIMITERS, 'rules', RULES, (of, rules) => ({ open: of({ rules }) }));
const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), once: true, lanes: LANES };
const { rows, redis } = await contestOnRedis(entries, setting);

report(machine({ redis, subjects: KEYS, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  rules: (row) => String(row.rules),
  ...FIGURES,
});
