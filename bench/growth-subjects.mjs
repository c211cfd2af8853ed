// Measures the cost of a decision by the number of subjects. Each number is measured on a separate Redis server.
//
//   node bench/growth-subjects.mjs [--quick] [--json]
import { count, FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { ours } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const SUBJECTS = asked.quick ? [100, 1_000] : [1_000, 10_000, 100_000, 1_000_000];
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 500 };

const entries = [];
for (const subjects of SUBJECTS) {
  entries.push({
    row: { subjects },
    subjects: subjectsOf(subjects),
    server: await startMeasuredServer(),
  });
}
const rows = await contest(entries, {
  ...TIMES,
  open: ours(),
  once: true,
  limit: 10_000, // Low enough that the key of the first hit does not expire during the benchmark.
  allowed: true,
  lanes: LANES,
});
for (const { server } of entries) await server.stop();

const { version: redis } = entries[0].server;
report(machine({ redis, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  subjects: (row) => count(row.subjects),
  ...FIGURES,
});
