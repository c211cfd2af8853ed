// How much do more processes decide on one Redis?
//
//   node bench/growth-processes.mjs [--quick] [--json]
import { FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { DecidingProcess, together } from './deciding-process.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const ROUNDS = asked.quick ? 1 : 3;
const PROCESSES = asked.quick ? [1, 2] : [1, 2, 3, 4];

const server = await startMeasuredServer();
const [most] = PROCESSES.slice(-1);
const pools = {};
for (const limiter of ['this library', 'rate-limiter-flexible']) {
  const start = () => DecidingProcess.start({ limiter, url: server.url, keys: KEYS, limit: 100_000 });
  pools[limiter] = await Promise.all(Array.from({ length: most }, start));
}

const entries = Object.entries(pools).flatMap(([limiter, pool]) =>
  PROCESSES.map((processes) => ({
    row: { limiter, processes },
    open: () => together(pool.slice(0, processes)),
  })),
);
const rows = await contest(entries, {
  server,
  subjects: subjectsOf(KEYS),
  once: true,
  lanes: LANES,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 400,
});
for (const process of Object.values(pools).flat()) process.stop();
await server.stop();

report(machine({ redis: server.version, keys: KEYS, 'in flight each': LANES, rounds: ROUNDS }), rows, {
  limiter: (row) => row.limiter,
  processes: (row) => String(row.processes),
  ...FIGURES,
});
