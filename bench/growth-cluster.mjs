// Measures the cost of a decision by the number of nodes of a Redis Cluster. Decisions of a turn share a call to each node, see docs/adr/0114-one-call-a-server.md.
//
//   node bench/growth-cluster.mjs [--quick] [--json]
import { startMeasuredCluster } from './cluster.mjs';
import { FIGURES } from './columns.mjs';
import { ALL_LET_IN, contest } from './contest.mjs';
import { bareScriptOneByOne, flexible, ours } from './contestants.mjs';
import { entriesAtSizes } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 400 };
const NODES = asked.quick ? [1, 2] : [1, 2, 3];

const CONTESTANTS = {
  'this library': ours(),
  'bare GCRA, one call each': bareScriptOneByOne,
  'rate-limiter-flexible': flexible(),
};

const clusters = await Promise.all(NODES.map(startMeasuredCluster));
const entries = entriesAtSizes(CONTESTANTS, 'nodes', NODES, (open, nodes) => ({
  open,
  server: clusters[NODES.indexOf(nodes)],
}));
const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), once: true, lanes: LANES };
const rows = await contest(entries, setting);
await Promise.all(clusters.map((cluster) => cluster.stop()));

const [{ version: redis }] = clusters;
report(machine({ redis, keys: KEYS, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  nodes: (row) => String(row.nodes),
  ...FIGURES,
});
