// Simulates what growth-cluster and growth-connections measure: one process with 64 decisions in flight on one machine. Compare the figures with those in docs/performance.md.
//
//   node bench/capacity/check.mjs [--json]
import { thousands, threeDigits } from '../columns.mjs';
import { machine, report } from '../report.mjs';
import { percentile } from '../stats.mjs';
import { seeded } from '../traffic.mjs';
import { Shard } from './event-loop.mjs';
import { Process, SLOTS } from './process.mjs';

const LANES = 64;
const NETWORK = 10;
const MEASURED = 1_000_000;

function simulate(nodes, connections) {
  const random = seeded(1);
  const latencies = [];
  const request = (at) => ({ at, slot: Math.floor(random() * SLOTS) });
  const decided = (requests, at) => {
    for (const { at: from } of requests) latencies.push(at - from);
    process.inbox.push(...requests.map(() => request(at)));
  };
  const servers = Array.from({ length: nodes }, () => new Shard(NETWORK));
  const shards = Array.from({ length: connections }, (_, index) => servers[index % nodes]);
  const process = new Process({ network: NETWORK, shards, keeps: 0, random, decided });
  process.inbox.push(...Array.from({ length: LANES }, () => request(0)));
  for (let now = 0; now < MEASURED; now += NETWORK) {
    for (const loop of [process, ...servers]) loop.runUntil(now + NETWORK);
  }
  const perDecision = (busy) => busy / latencies.length;
  return {
    ...{ nodes, connections, perSecond: (latencies.length * 1e6) / MEASURED },
    clientMicros: perDecision(process.busy),
    serverMicros: perDecision(servers.reduce((sum, { busy }) => sum + busy, 0)),
    p50: percentile(
      latencies.sort((one, other) => one - other),
      0.5,
    ),
  };
}

const sizes = [[1, 1], [2, 2], [3, 3], [1, 4], [1, 16], [1, 64]]; // prettier-ignore
report(
  machine({ 'in flight': LANES }),
  sizes.map((each) => simulate(...each)),
  {
    nodes: (row) => String(row.nodes),
    connections: (row) => String(row.connections),
    'decisions/s': (row) => thousands(row.perSecond),
    'client µs': (row) => threeDigits(row.clientMicros),
    'server µs': (row) => threeDigits(row.serverMicros),
    'p50 µs': (row) => threeDigits(row.p50),
  },
);
