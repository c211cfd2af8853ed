// What does a decision cost as a Redis Cluster gets more nodes? A script has the keys of one slot, so
// decisions on different subjects do not share a call there.
//
//   node bench/growth-cluster.mjs [--quick] [--json]
import { startMeasuredCluster } from './cluster.mjs';
import { FIGURES } from './columns.mjs';
import { contest } from './contest.mjs';
import { bareOneByOne, flexible, ours } from './contestants.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const ROUNDS = asked.quick ? 1 : 3;
const NODES = asked.quick ? [1, 2] : [1, 2, 3];

const CONTESTANTS = {
  'this library': ours(),
  'bare GCRA, one call each': bareOneByOne,
  'rate-limiter-flexible': flexible(),
};

const clusters = await Promise.all(NODES.map(startMeasuredCluster));
const entries = Object.entries(CONTESTANTS).flatMap(([limiter, open]) =>
  NODES.map((nodes, index) => ({ row: { limiter, nodes }, open, server: clusters[index] })),
);
const rows = await contest(entries, {
  subjects: subjectsOf(KEYS),
  once: true,
  limit: 100_000,
  allowed: true,
  lanes: LANES,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 400,
});
await Promise.all(clusters.map((cluster) => cluster.stop()));

report(machine({ redis: clusters[0].version, keys: KEYS, 'in flight': LANES, rounds: ROUNDS }), rows, {
  limiter: (row) => row.limiter,
  nodes: (row) => String(row.nodes),
  ...FIGURES,
});
