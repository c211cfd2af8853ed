// Simulates a million decisions per second: 50 processes and the shards of a Redis Cluster in virtual time, with the costs that other benchmarks have measured. The figures are the same on every machine.
//
//   node bench/capacity.mjs [--quick] [--json]
import { Shard } from './capacity/event-loop.mjs';
import { KEPT_FOR, Process, SLOTS } from './capacity/process.mjs';
import { count, percent, threeDigits } from './columns.mjs';
import { asked, progress, report } from './report.mjs';
import { percentile } from './stats.mjs';
import { seeded } from './traffic.mjs';

const SECOND = 1_000_000;
const PROCESSES = 50;
const SUBJECTS = 1e8;
/** One way, in microseconds. */
const NETWORK = 250;
const WARM_UP = 100_000;
const MEASURED = asked.quick ? 50_000 : 200_000;
const DENIED = 1_000;
const PERMITS = 1_000;
const SEED = 1;
/** After the measured time, until its last requests are decided. */
const DRAIN = 100_000;
const PARTS = { lost: 'on this shard', others: 'on the others' };

const anySlot = (random) => ({ slot: Math.floor(random() * SLOTS) });
const slotOf = (subject) => (Math.imul(subject, 0x9e3779b1) >>> 0) % SLOTS;

/** Kinds of traffic: return the slot of a request, and its subject if prefetch or the deny cache may serve it. */
const TRAFFIC = {
  uniform: anySlot,
  'Zipf, exponent 1': (random) => ({ slot: slotOf(Math.floor(SUBJECTS ** random())) }),
  'a key with 10 %': (random) => (random() < 0.1 ? { slot: 0, subject: 0 } : anySlot(random)),
  '30 % denied': (random) => {
    if (random() >= 0.3) return anySlot(random);
    const subject = Math.floor(random() * DENIED);
    return { slot: slotOf(subject), subject };
  },
};

const CASES = [
  ...[12, 13, 14, 18, 24].map((shards) => ({ traffic: 'uniform', shards })),
  ...[12, 24].map((shards) => ({ traffic: 'Zipf, exponent 1', shards })),
  { traffic: 'a key with 10 %' },
  { traffic: 'a key with 10 %', with: 'prefetch of 1,000', keeps: PERMITS },
  { traffic: '30 % denied', with: 'no deny cache' },
  { traffic: '30 % denied', with: 'deny cache', keeps: Infinity },
  { traffic: 'uniform', with: 'a shard hangs for 1 s', hangs: SECOND },
];

/** Fills what a process keeps, as after a long time: otherwise all processes would call Redis at first. */
function fill({ kept, keeps }, { traffic, random }) {
  const denials = traffic === '30 % denied' ? DENIED : 0;
  const requests = (0.3 * KEPT_FOR) / PROCESSES / DENIED; // of a subject while it is kept
  for (let subject = 0; subject < denials; subject++) {
    if (random() < requests / (1 + requests)) kept.set(subject, { left: keeps, until: random() * KEPT_FOR });
  }
  if (keeps === PERMITS) kept.set(0, { left: Math.floor(random() * PERMITS), until: KEPT_FOR });
}

/** Adds the requests that arrive at a process before an instant; all processes together get one per microsecond. */
function arrive(process, until, { traffic, random }) {
  const pause = () => -Math.log(1 - random()) * PROCESSES;
  process.next ??= pause();
  for (; process.next < until; process.next += pause()) {
    process.inbox.push({ at: process.next, ...TRAFFIC[traffic](random) });
  }
}

/** Returns what was decided of the requests in the measured time, and how busy the loops were meanwhile. */
function simulate({ shards: size = 12, traffic, keeps = 0, hangs = 0 }) {
  const random = seeded(SEED);
  const load = { traffic, random };
  const end = WARM_UP + Math.max(MEASURED, 2 * hangs);
  const latencies = { lost: [], others: [] };
  const fallback = { lost: 0, others: 0 };
  const decided = (requests, at, isFallback) => {
    for (const request of requests) {
      if (request.at < WARM_UP || request.at >= end) continue;
      const part = hangs > 0 && request.slot < SLOTS / size ? 'lost' : 'others';
      latencies[part].push(at - request.at);
      if (isFallback) fallback[part] += 1;
    }
  };
  const shards = Array.from({ length: size }, () => new Shard(NETWORK));
  const setting = { network: NETWORK, shards, keeps, random, decided };
  const processes = Array.from({ length: PROCESSES }, () => new Process(setting));
  const loops = [...processes, ...shards];
  for (const process of processes) fill(process, load);
  // What is sent arrives in a later step, so all loops can take the same step one after the other.
  for (let now = 0; now < end + DRAIN; now += NETWORK) {
    if (now === WARM_UP) for (const loop of loops) loop.busy = loop.overshoot(now);
    if (now === WARM_UP && hangs > 0) shards[0].freeAt = now + hangs;
    if (now === end)
      for (const loop of loops) loop.share = (loop.busy - loop.overshoot(now)) / (end - WARM_UP);
    for (const process of processes) {
      process.expire(now);
      if (now < end) arrive(process, now + NETWORK, load);
    }
    for (const loop of loops) loop.runUntil(now + NETWORK);
  }
  return { latencies, fallback, shards: sharesOf(shards), processes: sharesOf(processes) };
}

const sharesOf = (loops) => loops.map(({ share }) => share);
const mean = (figures) => figures.reduce((sum, each) => sum + each) / figures.length;

const rows = [];
for (const each of CASES) {
  const startedAt = performance.now();
  const { latencies, fallback, shards, processes } = simulate(each);
  for (const part of each.hangs ? ['lost', 'others'] : ['others']) {
    const sorted = Float64Array.from(latencies[part]).sort();
    rows.push({
      traffic: each.traffic,
      with: [each.with, each.hangs && PARTS[part]].filter(Boolean).join(': '),
      shards: shards.length,
      mean: mean(shards),
      worst: Math.max(...shards),
      p50: percentile(sorted, 0.5) / 1000,
      p99: percentile(sorted, 0.99) / 1000,
      p999: percentile(sorted, 0.999) / 1000,
      fallback: fallback[part] / sorted.length,
      cores: mean(processes),
    });
  }
  progress(`${each.traffic}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

const setting = {
  processes: PROCESSES,
  'decisions/s': count(SECOND),
  'network ms': NETWORK / 1000,
  seed: SEED,
};
report(setting, rows, {
  traffic: (row) => row.traffic,
  with: (row) => row.with,
  shards: (row) => String(row.shards),
  'shards busy, mean': (row) => percent(row.mean),
  worst: (row) => percent(row.worst),
  'p50 ms': (row) => threeDigits(row.p50),
  'p99 ms': (row) => threeDigits(row.p99),
  'p99.9 ms': (row) => threeDigits(row.p999),
  'by the fallback': (row) => percent(row.fallback, 2),
  'cores per process': (row) => threeDigits(row.cores),
});
