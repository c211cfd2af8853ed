// Measures the cost of a decision in Redis by the limit: server time of the script (INFO commandstats) for an allowed hit when half of the limit is used, with every algorithm.
//
//   node bench/growth-limit.mjs [--quick] [--json]
import { RateLimiter } from '../dist/esm/limiter.js';
import { RedisStore } from '../dist/esm/redis.js';
import { count, threeDigits } from './columns.mjs';
import { HalfFull } from './half-full.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { RULES } from './rules.mjs';
import { median } from './stats.mjs';

const LIMITS = asked.quick ? [10, 100] : [10, 100, 1_000, 10_000, 100_000, 1_000_000];
const MOST_PERMITS_HELD = 10_000;
const ROUNDS = asked.quick ? 1 : 3;
const DECISIONS = asked.quick ? 50 : 600;

const server = await startMeasuredServer();
const redis = server.connect();
const store = new RedisStore({ redis, timeout: 60_000 });
const limiter = new RateLimiter({ store, onStoreError: 'deny' });

const places = [];
for (const described of RULES.filter(({ name }) => !name.includes(','))) {
  progress(`filling ${described.name}`);
  for (const limit of LIMITS) {
    if (described.permitsHeld && limit > MOST_PERMITS_HELD) continue;
    const place = new HalfFull(limiter, described, { limit, rounds: ROUNDS, decisions: DECISIONS });
    await place.fill();
    places.push({ algorithm: described.name, limit, place, rounds: [] });
  }
}
for (let round = 0; round < ROUNDS; round++) {
  progress(`round ${round + 1} of ${ROUNDS}`);
  for (const { place, rounds } of places) rounds.push(await place.serverMicros(redis));
}
await limiter.close();
await store.close();
redis.disconnect();
await server.stop();

const rows = places.map(({ algorithm, limit, rounds }) => ({
  algorithm,
  limit,
  scriptMicros: median(rounds),
}));
const table = [...new Set(rows.map(({ algorithm }) => algorithm))].map((algorithm) => ({
  algorithm,
  at: new Map(rows.filter((row) => row.algorithm === algorithm).map((row) => [row.limit, row.scriptMicros])),
}));
const format = (micros) => (micros === undefined ? '' : threeDigits(micros));
report(
  machine({ redis: server.version, decisions: DECISIONS, rounds: ROUNDS }),
  rows,
  {
    'µs in the script': (row) => row.algorithm,
    ...Object.fromEntries(
      LIMITS.map((limit) => [`limit ${count(limit)}`, (row) => format(row.at.get(limit))]),
    ),
  },
  table,
);
