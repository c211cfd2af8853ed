// Measures what a limiter adds to a request of a Nest application: CPU time on Fastify and Express, compared with other limiters and with no limiter, at full load; and the latency at a low request rate.
//
//   node bench/http.mjs [--quick] [--json] [--platform fastify|express] [--only a,b]
//   node bench/http.mjs --profile ours-redis-1 [--steady] [--platform fastify|express]
import { createRequire } from 'node:module';
import { percent, times } from './columns.mjs';
import { CONNECTIONS, contestantsOn } from './http/contestants.mjs';
import { STEADY_RATE } from './http/measure.mjs';
import { readOptions } from './http/options.mjs';
import { profileOf } from './http/profile.mjs';
import { rowsOf } from './http/rounds.mjs';
import { targetRows } from './http/targets.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, report } from './report.mjs';

/** Milliseconds; number of responses of the warm-up, at the start and in every round; number of rounds. */
const TIMES = asked.quick
  ? { warmUp: 0, leadIn: 200, window: 150, rounds: 1, steady: 100, steadyRounds: 1, profile: 500 }
  : { warmUp: 6000, leadIn: 500, window: 600, rounds: 11, steady: 600, steadyRounds: 5, profile: 5000 };

/** Number of rows in each list of a profile. */
const LONGEST = 40;

const micros = (value) => (value === undefined ? '' : value.toFixed(Math.abs(value) < 1000 ? 1 : 0));

async function compare({ platforms, names }) {
  const rows = [];
  for (const platform of platforms) {
    const contestants = contestantsOn(platform, names);
    rows.push(...(await rowsOf({ platform, contestants, server }, TIMES)));
  }
  report(machine({ ...versions, connections: CONNECTIONS, rounds: TIMES.rounds }), rows, {
    app: (row) => row.platform,
    'in front of the route': (row) => row.title,
    'app µs': (row) => micros(row.appMicros),
    spread: (row) => percent(row.spread),
    'added µs': (row) => micros(row.addedMicros),
    'req/s': (row) => row.perSecond.toFixed(0),
    share: (row) => row.share.toFixed(2),
    busy: (row) => percent(row.busy),
    'server µs': (row) => micros(row.serverMicros),
    'p50 µs': (row) => micros(row.p50),
    'p99 µs': (row) => micros(row.p99),
    [`app µs at ${STEADY_RATE} req/s`]: (row) => micros(row.steadyMicros),
    'p50 µs there': (row) => micros(row.steadyP50),
  });
  if (!asked.json) reportTargets(targetRows(rows));
}

function reportTargets(rows) {
  report({}, rows, {
    'ratio, on Fastify': ({ ratio }) => ratio,
    seen: ({ seen }) => times(seen),
    target: ({ most }) => (most === undefined ? '' : `<= ${times(most)}`),
    result: ({ result }) => result,
  });
}

async function profile({ platforms: [platform], profiled, isSteady }) {
  const [contestant] = contestantsOn(platform, [profiled]);
  if (!contestant) throw new Error(`--profile: ${profiled} is not there on ${platform}`);
  const setup = { platform, contestants: [contestant], server };
  const { appMicros, packages, functions } = await profileOf(setup, isSteady, TIMES);
  const total = packages.reduce((sum, { us }) => sum + us, 0);
  const rows = [packages, functions].flatMap((list) => list.slice(0, LONGEST));
  const of = { platform, contestant: profiled, 'app µs': micros(appMicros), 'profiled µs': micros(total) };
  report(machine({ ...versions, ...of }), rows, {
    'self time of': (row) => row.where,
    'µs a request': (row) => row.us.toFixed(2),
    share: (row) => percent(row.us / total),
  });
}

const options = readOptions();
const server = await startMeasuredServer();
const { version: nest } = createRequire(import.meta.url)('@nestjs/core/package.json');
const versions = { nest, redis: server.version };
try {
  await (options.profiled ? profile(options) : compare(options));
} finally {
  await server.stop();
}
