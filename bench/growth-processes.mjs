// Measures how many decisions several processes make on one Redis.
//
//   node bench/growth-processes.mjs [--quick] [--json]
import { FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { startProcesses, together } from './deciding-processes.mjs';
import { entriesAtSizes } from './entries.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 400 };
const PROCESSES = asked.quick ? [1, 2] : [1, 2, 3, 4];

const server = await startMeasuredServer();
const [most] = PROCESSES.slice(-1);
const pools = {};
for (const [limiter, name] of Object.entries({
  'this library': 'ours',
  'rate-limiter-flexible': 'flexible',
})) {
  const task = { name, options: {}, address: server.address, keys: KEYS, limit: 100_000 };
  pools[limiter] = await startProcesses(most, task);
}

const entries = entriesAtSizes(pools, 'processes', PROCESSES, (pool, processes) => ({
  open: () => together(pool.slice(0, processes)),
}));
const setting = { ...TIMES, server, subjects: subjectsOf(KEYS), once: true, lanes: LANES, allowed: true };
const rows = await contest(entries, setting);
for (const process of Object.values(pools).flat()) await process.stop();
await server.stop();

const { version: redis } = server;
report(machine({ redis, keys: KEYS, 'in flight each': LANES, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  processes: (row) => String(row.processes),
  ...FIGURES,
});
