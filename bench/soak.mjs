// Runs one process at half of its capacity for 20 minutes, and prints its heap and its latency by minute.
//
//   node bench/soak.mjs [--quick] [--json]
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { FIGURES } from './columns.mjs';
import { ours } from './contestants.mjs';
import { drive } from './lanes.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { percentile } from './stats.mjs';
import { subjectsOf } from './subjects.mjs';

const MINUTES = asked.quick ? 2 : 20;
const MINUTE_MS = asked.quick ? 200 : 60_000;
const CAPACITY_MS = asked.quick ? 200 : 5000;
const KEYS = 10_000;
/** Is not reached in 20 minutes. */
const LIMIT = 50_000_000;
/** One of this many decisions is timed. */
const EVERY = 61;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** Decisions in flight at most: a process that is late does not catch up, like a server with as many connections. */
const MOST_PENDING = 512;

/** Requests decisions at a rate for a minute, in parts of a millisecond or more. Returns the figures of the minute. */
async function minute(contestant, perSecond) {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const latencies = [];
  let [decisions, pending] = [0, 0];
  const decide = async (nth) => {
    pending++;
    const askedAt = nth % EVERY === 0 ? performance.now() : undefined;
    if (!contestant.isAllowed(await contestant.ask(subjects[nth % KEYS])))
      throw new Error('A decision was not to let in');
    pending--;
    if (askedAt !== undefined) latencies.push((performance.now() - askedAt) * 1000);
  };
  for (let last = startedAt; last < startedAt + MINUTE_MS;) {
    await sleep(1);
    const now = performance.now();
    const due = Math.min(Math.round(((now - last) / 1000) * perSecond), MOST_PENDING - pending);
    for (let nth = 0; nth < due; nth++) void decide(decisions++);
    last = now;
  }
  while (pending > 0) await sleep(1);
  const { user, system } = process.cpuUsage(cpu);
  const sorted = latencies.toSorted((one, other) => one - other);
  collectGarbage();
  return {
    perSecond: decisions / ((performance.now() - startedAt) / 1000),
    clientMicros: (user + system) / decisions,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    heap: process.memoryUsage().heapUsed,
  };
}

const subjects = subjectsOf(KEYS);
const server = await startMeasuredServer();
const contestant = await ours()({ server, limit: LIMIT });
const { decisions, seconds } = await drive(contestant, { subjects, lanes: 64, ms: CAPACITY_MS });
const half = decisions / seconds / 2;
const rows = [];
for (let nth = 1; nth <= MINUTES; nth++) {
  const cpuBefore = await server.cpuMicros();
  const row = await minute(contestant, half);
  const serverMicros = ((await server.cpuMicros()) - cpuBefore) / (row.perSecond * (MINUTE_MS / 1000));
  rows.push({ minute: nth, ...row, serverMicros });
  progress(`minute ${nth} of ${MINUTES}`);
}
await contestant.close();
await server.stop();

const figures = Object.entries(FIGURES).filter(([title]) => title !== 'spread');
report(machine({ redis: server.version, keys: KEYS }), rows, {
  minute: ({ minute: nth }) => String(nth),
  ...Object.fromEntries(figures),
  'heap MB': ({ heap }) => (heap / 1e6).toFixed(2),
});
