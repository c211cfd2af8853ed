// Measures what a decision of each algorithm costs Redis: server time of the script (INFO commandstats) and bytes of a key (MEMORY USAGE), on a separate server.
//
//   node bench/algorithm-cost.mjs [--quick] [--json]
import { costOf } from './cost-of-rule.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { RULES } from './rules.mjs';

const KEYS = asked.quick ? 10 : 300;
const ROUNDS = asked.quick ? 1 : 5;

const server = await startMeasuredServer();
const redis = server.connect();
const measured = RULES.map(() => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, rule] of RULES.entries()) {
    measured[index].push(await costOf(rule, { redis, url: server.address, keys: KEYS }));
  }
}
redis.disconnect();
await server.stop();

const rows = RULES.map(({ name, rule, entries }, index) => {
  // The lowest round counts, because other work on the machine can only add time.
  const of = (figure) => Math.min(...measured[index].map((round) => round[figure]));
  const [bytesOfOne, bytesWhenFull] = [of('bytesOfOne'), of('bytesWhenFull')];
  const bytesAnEntry = entries ? (bytesWhenFull - bytesOfOne) / (rule.limit - 1) : null;
  return {
    rule: name,
    allowed: of('allowed'),
    denied: of('denied'),
    bytesOfOne,
    bytesWhenFull,
    bytesAnEntry,
  };
});

report(machine({ redis: server.version, keys: KEYS, decisions: KEYS * 20, rounds: ROUNDS }), rows, {
  rule: (row) => row.rule,
  'allowed, µs': (row) => row.allowed.toFixed(1),
  'denied, µs': (row) => row.denied.toFixed(1),
  'bytes, one request': (row) => String(row.bytesOfOne),
  'bytes, full': (row) => String(row.bytesWhenFull),
  'bytes per additional request': (row) => (row.bytesAnEntry === null ? '' : row.bytesAnEntry.toFixed(0)),
});
