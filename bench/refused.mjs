// What does a decision cost that is refused? Some remember in the process whom Redis has refused.
//
//   node bench/refused.mjs [--quick] [--json]
import { count, FIGURES, times } from './columns.mjs';
import { compared, contest } from './contest.mjs';
import { bareByTurns, flexible, ours } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const LANES = 64;
const ROUNDS = asked.quick ? 1 : 5;

/** `passes`: after so many hits a key all are refused, by whoever is to refuse them. */
const CONTESTANTS = {
  'this library': { open: ours(), passes: 3 }, // The first refusal is what makes it listen for changes.
  'bare GCRA, one call a turn': { open: bareByTurns, passes: 1 },
  'rate-limiter-flexible, blocks in memory': { open: flexible({ blocksInMemory: true }), passes: 2 },
  'rate-limiter-flexible': { open: flexible(), passes: 1 },
};

const server = await startMeasuredServer();
const entries = [asked.quick ? 1_000 : 10_000, 1].flatMap((keys) =>
  Object.entries(CONTESTANTS).map(([limiter, contestant]) => ({
    row: { limiter, keys },
    ...contestant,
    subjects: subjectsOf(keys),
  })),
);
const rows = await contest(entries, {
  server,
  limit: 1,
  allowed: false,
  lanes: LANES,
  every: 61,
  rounds: ROUNDS,
  ms: asked.quick ? 100 : 500,
});
await server.stop();

const peerOf = ({ keys }) => rows.find((row) => row.limiter === 'rate-limiter-flexible' && row.keys === keys);
report(
  machine({ redis: server.version, 'in flight': LANES, rounds: ROUNDS }),
  compared(rows, 'perSecond', peerOf),
  {
    refused: (row) => row.limiter,
    keys: (row) => count(row.keys),
    ...FIGURES,
    'rate-limiter-flexible': (row) => times(row.times),
  },
);
