// Measures the cost of heartbeats in Redis by the number of processes: server time of the script (INFO commandstats), for consecutive heartbeats and for one every 25 ms, as 200 processes send them.
//
//   node bench/heartbeats.mjs [--quick] [--json]
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisStore } from '../dist/esm/redis.js';
import { threeDigits } from './columns.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { scriptTime } from './script-time.mjs';
import { median } from './stats.mjs';

const PROCESSES = [1, 16, 200];
const ROUNDS = asked.quick ? 1 : 5;
const IN_A_ROW = asked.quick ? 20 : 2000;
const APART = asked.quick ? 2 : 200;
const APART_MS = 25;

const server = await startMeasuredServer();
const redis = server.connect();
const store = new RedisStore({ redis, timeout: 60_000 });

async function beat({ key, instances }, times, pauseMs) {
  for (let nth = 0; nth < times; nth++) {
    await store.heartbeat({ key, instance: instances[nth % instances.length], duration: 15e6 });
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

const places = PROCESSES.map((processes) => ({
  processes,
  key: `bench-${processes}:{instances}`,
  instances: Array.from({ length: processes }, () => randomBytes(6).toString('hex')),
  rounds: [],
}));
for (let round = 1; round <= ROUNDS; round++) {
  progress(`round ${round} of ${ROUNDS}`);
  for (const place of places) {
    await beat(place, place.processes, 0); // No earlier heartbeat has expired when the measurement begins.
    const inARow = await scriptTime(redis, () => beat(place, IN_A_ROW, 0));
    const apart = await scriptTime(redis, () => beat(place, APART, APART_MS));
    place.rounds.push({ inARow: inARow.micros, apart: apart.micros });
  }
}
await store.close();
redis.disconnect();
await server.stop();

const rows = places.map(({ processes, rounds }) => ({
  processes,
  inARow: median(rounds.map(({ inARow }) => inARow)),
  apart: median(rounds.map(({ apart }) => apart)),
}));
report(machine({ redis: server.version, rounds: ROUNDS }), rows, {
  processes: (row) => String(row.processes),
  'in a row, µs': (row) => threeDigits(row.inARow),
  'one every 25 ms, µs': (row) => threeDigits(row.apart),
});
