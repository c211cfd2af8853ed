// Measures how far the window algorithms differ from an exact log of every hit. All of them decide the same arrivals, in virtual time and in memory.
//
//   node bench/counter-error.mjs [--quick] [--json]
import { MemoryStore } from '../dist/esm/index.js';
import { RateLimiter } from '../dist/esm/limiter.js';
import { percent } from './columns.mjs';
import { asked, machine, report } from './report.mjs';
import { EXAMPLES } from './rules.mjs';
import { seeded, TRAFFIC } from './traffic.mjs';

const LIMIT = 100;
const WINDOW = 60_000;
const HITS = asked.quick ? 2_000 : 20_000;
const SEED = 1;
/** A full window of the clock, because some windows are aligned to it. */
const START = Date.UTC(2030, 0, 1);

/** The algorithms that count in a window, and one with smaller cells. */
const RULES = {
  ...Object.fromEntries(
    EXAMPLES.filter(({ bound, rule }) => / window$/.test(bound) && rule.window.endsWith('ms')).map(
      ({ name, ruleFor }) => [name, ruleFor(LIMIT)],
    ),
  ),
  'sliding-window-cells, 60 cells': { algorithm: 'sliding-window-cells', cells: 60 },
};

/** Returns the decisions of a rule (by default the log) for all arrivals. */
async function decideAll(rule, arrivals) {
  let now = START;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
  const wholeRule = { ...rule, limit: LIMIT, window: `${WINDOW}ms` };
  const allowed = [];
  for (const at of arrivals) {
    now = START + at;
    allowed.push((await limiter.consume(wholeRule, 'everyone')).allowed);
  }
  return allowed;
}

/** Returns the maximum number of allowed hits in any window. */
function mostInAnyWindow(admitted) {
  let most = 0;
  let first = 0;
  admitted.forEach((at, last) => {
    while (admitted[first] <= at - WINDOW) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}

const rows = [];
for (const [traffic, arrive] of Object.entries(TRAFFIC)) {
  const arrivals = arrive({ hits: HITS, limit: LIMIT, window: WINDOW, random: seeded(SEED) });
  const byTheLog = await decideAll({}, arrivals);
  for (const [rule, options] of Object.entries(RULES)) {
    const allowed = await decideAll(options, arrivals);
    const admitted = arrivals.filter((_, index) => allowed[index]);
    rows.push({
      traffic,
      rule,
      otherwise: allowed.filter((answer, index) => answer !== byTheLog[index]).length / HITS,
      letIn: admitted.length / byTheLog.filter(Boolean).length,
      mostInAnyWindow: mostInAnyWindow(admitted) / LIMIT,
    });
  }
}

report(machine({ hits: HITS, limit: LIMIT, window: '1m', seed: SEED }), rows, {
  traffic: (row) => row.traffic,
  rule: (row) => row.rule,
  'decided differently from the log': (row) => percent(row.otherwise, 1),
  'allowed, compared with the log': (row) => percent(row.letIn),
  'most in any window': (row) => percent(row.mostInAnyWindow),
});
