// What does a decision cost in memory, without Redis? On many keys and on a single hot one.
//
//   node bench/memory.mjs [--quick] [--json]
import { count, FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { bareMap, expressRateLimit, flexible, ours, throttler } from './memory-contestants.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const ROUNDS = asked.quick ? 1 : 5;

const CONTESTANTS = {
  'this library': ours,
  'bare GCRA in a map': bareMap,
  'rate-limiter-flexible': flexible,
  '@nestjs/throttler': throttler,
  'express-rate-limit': expressRateLimit,
};

const entries = [asked.quick ? 1_000 : 10_000, 1].flatMap((keys) =>
  Object.entries(CONTESTANTS).map(([limiter, open]) => ({
    row: { limiter, keys },
    open,
    subjects: subjectsOf(keys),
  })),
);
const rows = await contest(entries, {
  limit: 10_000_000,
  allowed: true,
  lanes: 1,
  every: 61,
  rounds: ROUNDS,
  ms: asked.quick ? 50 : 500,
});

const peerOf = ({ keys }) => rows.find((row) => row.limiter === 'rate-limiter-flexible' && row.keys === keys);
const figures = Object.fromEntries(Object.entries(FIGURES).filter(([title]) => title !== 'server µs'));
report(machine({ 'in flight': 1, rounds: ROUNDS }), compared(rows, 'perSecond', peerOf), {
  'in memory': (row) => row.limiter,
  keys: (row) => count(row.keys),
  ...figures,
  'rate-limiter-flexible': (row) => times(row.times),
});
