// How much do four processes decide on one key that they share, with a lease and without?
//
//   node bench/hot-key.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { DecidingProcess, together } from './deciding-process.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const LANES = 64;
const PROCESSES = 4;
const ROUNDS = asked.quick ? 1 : 5;
const LIMIT = 1e9;
const rule = { name: 'hot', algorithm: 'fixed-window', window: '1d' };
const KINDS = {
  'this library': { limiter: 'this library', rule },
  'this library, lease of 100': { limiter: 'this library', rule: { ...rule, lease: { permits: 100 } } },
  'this library, lease of 1,000': { limiter: 'this library', rule: { ...rule, lease: { permits: 1000 } } },
  'this library, lease of 10,000': { limiter: 'this library', rule: { ...rule, lease: { permits: 10_000 } } },
  'rate-limiter-flexible': { limiter: 'rate-limiter-flexible' },
};

const server = await startMeasuredServer();
const entries = [];
for (const [limiter, kind] of Object.entries(KINDS)) {
  const task = { ...kind, url: server.url, keys: 1, limit: LIMIT };
  const pool = await Promise.all(Array.from({ length: PROCESSES }, () => DecidingProcess.start(task)));
  entries.push({ row: { limiter }, pool, open: () => together(pool) });
}
const measured = await contest(entries, {
  server,
  subjects: subjectsOf(1),
  lanes: LANES,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 600,
});
for (const { pool } of entries) for (const process of pool) process.stop();
await server.stop();

const [without] = measured;
const rows = compared(measured, 'perSecond', () => without);
report(
  machine({ redis: server.version, processes: PROCESSES, 'in flight each': LANES, rounds: ROUNDS }),
  rows,
  {
    'one key, four processes': (row) => row.limiter,
    ...FIGURES,
    'without a lease': (row) => times(row.times),
  },
);
