// Measures the cost of a decision on one node of a Redis Cluster by the number of connections that share 64 decisions in flight. With more connections, fewer calls are written and read together.
//
//   node bench/growth-connections.mjs [--quick] [--json]
import { startMeasuredCluster } from './cluster.mjs';
import { FIGURES } from './columns.mjs';
import { ALL_LET_IN, contest } from './contest.mjs';
import { flexible, ours } from './contestants.mjs';
import { entriesAtSizes } from './entries.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const KEYS = asked.quick ? 1_000 : 10_000;
const LANES = 64;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 3, ms: 400 };
const CONNECTIONS = asked.quick ? [1, 4] : [1, 4, 16, 64];

const CONTESTANTS = { 'this library': ours(), 'rate-limiter-flexible': flexible() };

/** Returns a contestant that decides over several connections in turn, each of a limiter of its own. */
function over(connections, open) {
  return async (setting) => {
    const all = await Promise.all(Array.from({ length: connections }, () => open(setting)));
    let next = 0;
    return {
      ask: (subject) => all[next++ % connections].ask(subject),
      isAllowed: all[0].isAllowed,
      close: () => Promise.all(all.map(({ close }) => close())),
    };
  };
}

const server = await startMeasuredCluster(1);
const entries = entriesAtSizes(CONTESTANTS, 'connections', CONNECTIONS, (open, connections) => ({
  open: over(connections, open),
}));
const setting = { ...ALL_LET_IN, ...TIMES, server, subjects: subjectsOf(KEYS), once: true, lanes: LANES };
const rows = await contest(entries, setting);
await server.stop();

report(machine({ redis: server.version, keys: KEYS, 'in flight': LANES, rounds: TIMES.rounds }), rows, {
  limiter: (row) => row.limiter,
  connections: (row) => String(row.connections),
  ...FIGURES,
});
