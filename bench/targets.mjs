// Compares the cost of a decision with its targets: ratios to bare programs and to rate-limiter-flexible, in one run.
//
//   node bench/targets.mjs [--quick] [--json]
//
// Rounds in which other processes used the machine are repeated, 40 at most.
import { startMeasuredCluster } from './cluster.mjs';
import { times } from './columns.mjs';
import { ALL_LET_IN, contest, timesOf } from './contest.mjs';
import { rulesOf } from './contestants.mjs';
import { inMemory, onRedis } from './deciding-processes.mjs';
import { startDistantServer, startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 5, mostRounds: 40, ms: 500 };
const KEYS = asked.quick ? 1_000 : 10_000;

const LOG = { algorithm: 'sliding-window-log', limit: 1_000, window: rulesOf(1, 1_000)[0].window };
const DENIED = { limit: 1, allowed: false, passes: 3 };
const MEMORY = { limit: 90_000_000, lanes: 1, every: 61 };

const OURS = onRedis('ours', {});
const PEER = onRedis('flexible', {});
const BATCH = onRedis('bareByTurns');

/** A target: the ratio of a figure of this library to that of another contestant. */
const at = (most, figure, to) => ({ figure, to, most });
const from = (least, figure, to) => ({ figure, to, least });

/** What is measured: the contestants, of which `ours` is the first, and the targets by their titles. */
const WORKS = {
  'one in flight': {
    on: 'server',
    setting: { lanes: 1, every: 1, subjects: subjectsOf(1_000) },
    contestants: { ours: OURS, bare: onRedis('bareOneByOne'), peer: PEER },
    targets: {
      'p50, to the bare program': at(1.2, 'p50', 'bare'),
      'script, to the bare program': at(1.3, 'scriptMicros', 'bare'),
      'client CPU, to the bare program': at(1.3, 'clientMicros', 'bare'),
      'p50, to rate-limiter-flexible': at(1, 'p50', 'peer'),
    },
  },
  'one in flight, 1 ms of network': {
    on: 'distant',
    setting: { lanes: 1, every: 1, subjects: subjectsOf(100) },
    contestants: { ours: OURS, bare: onRedis('bareOneByOne'), peer: PEER },
    targets: {
      'p50, to the bare program': at(1.05, 'p50', 'bare'),
      'p50, to rate-limiter-flexible': at(1.05, 'p50', 'peer'),
    },
  },
  '64 in flight': {
    on: 'server',
    setting: { lanes: 64 },
    contestants: { ours: OURS, bare: BATCH, peer: PEER },
    targets: {
      'server CPU, to the bare batch': at(1.2, 'serverMicros', 'bare'),
      'decisions/s, to rate-limiter-flexible': from(1.7, 'perSecond', 'peer'),
    },
  },
  '512 in flight': {
    on: 'server',
    setting: { lanes: 512 },
    contestants: { ours: OURS, bare: BATCH, peer: PEER },
    targets: {
      'client CPU, to the bare batch': at(1.4, 'clientMicros', 'bare'),
      'decisions/s, to rate-limiter-flexible': from(3.2, 'perSecond', 'peer'),
    },
  },
  '1,000,000 decisions, 50 in flight': {
    on: 'server',
    setting: { lanes: 50, every: 1, ms: 0, atLeast: asked.quick ? 1_000 : 1_000_000 },
    contestants: { ours: OURS, bare: BATCH },
    targets: { 'p99.99, to the bare batch': at(1.5, 'p9999', 'bare') },
  },
  'log of 1,000 in a call each, 64 in flight': {
    on: 'server',
    setting: { lanes: 64, limit: LOG.limit },
    contestants: { ours: onRedis('ours', { rule: LOG }), bare: onRedis('bareLogOneByOne') },
    targets: {
      'client CPU, to the bare log': at(0.5, 'clientMicros', 'bare'),
      'server CPU, to the bare log': at(1, 'serverMicros', 'bare'),
    },
  },
  'three rules, 64 in flight': {
    on: 'server',
    setting: { lanes: 64 },
    contestants: { ours: onRedis('ours', { rules: 3 }), one: OURS },
    targets: {
      'client CPU, to one rule': at(1.4, 'clientMicros', 'one'),
      'server CPU, to one rule': at(1.9, 'serverMicros', 'one'),
    },
  },
  'denied from the cache': {
    on: 'server',
    setting: { lanes: 64, ...DENIED },
    contestants: { ours: OURS, peer: onRedis('flexible', { blocksInMemory: true }) },
    targets: { "decisions/s, to rate-limiter-flexible's block": from(4, 'perSecond', 'peer') },
  },
  'memory, gcra': {
    setting: MEMORY,
    contestants: { ours: inMemory('ours'), peer: inMemory('flexible') },
    targets: { 'decisions/s, to rate-limiter-flexible': from(1.5, 'perSecond', 'peer') },
  },
  'memory, log': {
    setting: { ...MEMORY, limit: LOG.limit, allowed: undefined },
    contestants: { ours: inMemory('oursWithLog'), peer: inMemory('flexible') },
    targets: { 'decisions/s, to rate-limiter-flexible': from(1.2, 'perSecond', 'peer') },
  },
  'memory, one key': {
    setting: { ...MEMORY, subjects: subjectsOf(1) },
    contestants: { ours: inMemory('ours'), peer: inMemory('flexible') },
    targets: { 'decisions/s, to rate-limiter-flexible': from(0.9, 'perSecond', 'peer') },
  },
  'Cluster of three, 64 in flight': {
    on: 'cluster',
    setting: { lanes: 64 },
    contestants: { ours: OURS, peer: PEER },
    targets: { 'client CPU, to rate-limiter-flexible': at(1, 'clientMicros', 'peer') },
  },
};

const servers = {
  server: await startMeasuredServer(),
  distant: await startDistantServer(1),
  cluster: await startMeasuredCluster(3),
};
const rows = [];
for (const [work, { on, setting, contestants, targets }] of Object.entries(WORKS)) {
  progress(work);
  const entries = Object.entries(contestants).map(([name, open]) => ({ row: { name }, open }));
  const measured = await contest(entries, {
    ...ALL_LET_IN,
    ...TIMES,
    subjects: subjectsOf(KEYS),
    ...setting,
    server: servers[on],
  });
  const rowOf = (name) => measured.find((row) => row.name === name);
  for (const [title, { figure, to, most, least }] of Object.entries(targets)) {
    const ratio = timesOf(measured[0], rowOf(to), figure);
    const isMet = most === undefined ? ratio >= least : ratio <= most;
    rows.push({ work, title, ratio, most, least, isMet, rounds: measured[0].rounds.length });
  }
}
await Promise.all(Object.values(servers).map((server) => server.stop()));

report(machine({ redis: servers.server.version, keys: KEYS, rounds: TIMES.rounds }), rows, {
  work: ({ work }) => work,
  ratio: ({ title }) => title,
  seen: ({ ratio }) => times(ratio),
  target: ({ most, least }) => (most === undefined ? `>= ${times(least)}` : `<= ${times(most)}`),
  result: ({ isMet }) => (isMet ? 'pass' : 'miss'),
});
