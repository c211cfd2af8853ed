// Measures how many decisions four processes make on one shared key, with and without prefetch.
//
//   node bench/hot-key.mjs [--quick] [--json]
import { FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { startProcesses, together } from './deciding-processes.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const LANES = 64;
const PROCESSES = 4;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, ms: 600 };
const LIMIT = 1e9;
const rule = { name: 'hot', algorithm: 'fixed-window', window: '1d' };
const KINDS = {
  'this library': { name: 'ours', options: { rule } },
  'this library, prefetch of 100': {
    name: 'ours',
    options: { rule: { ...rule, prefetch: { permits: 100 } } },
  },
  'this library, prefetch of 1,000': {
    name: 'ours',
    options: { rule: { ...rule, prefetch: { permits: 1000 } } },
  },
  'this library, prefetch of 10,000': {
    name: 'ours',
    options: { rule: { ...rule, prefetch: { permits: 10_000 } } },
  },
  'rate-limiter-flexible': { name: 'flexible', options: {} },
};

const server = await startMeasuredServer();
const entries = [];
for (const [limiter, kind] of Object.entries(KINDS)) {
  const task = { ...kind, address: server.address, keys: 1, limit: LIMIT };
  const pool = await startProcesses(PROCESSES, task);
  entries.push({ row: { limiter }, pool, open: () => together(pool) });
}
const rows = await contest(entries, {
  ...TIMES,
  server,
  subjects: subjectsOf(1),
  lanes: LANES,
  allowed: true,
});
for (const { pool } of entries) for (const process of pool) await process.stop();
await server.stop();

const [without] = rows;
const { version: redis } = server;
report(
  machine({ redis, processes: PROCESSES, 'in flight each': LANES, rounds: TIMES.rounds }),
  compared(rows, 'perSecond', () => without),
  {
    'one key, four processes': (row) => row.limiter,
    ...FIGURES,
    'without prefetch': (row) => times(row.times),
  },
);
