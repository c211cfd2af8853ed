// Measures the cost of the operations page for a process with 300 rules at a steady rate, beside the same process without it: commands and CPU time of Redis, CPU time and heap of the process.
//
//   node bench/operations.mjs [--quick] [--json]
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnsweringProcess } from './answering-process.mjs';
import { count, threeDigits, times } from './columns.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { median } from './stats.mjs';

const CHILD = new URL('operated-process.mjs', import.meta.url);
const ROUNDS = asked.quick ? 1 : 5;
const MS = asked.quick ? 2000 : 10_000;
const IDLE_MS = MS / 2;
const RATE = 200;
const MANY = asked.quick ? 1000 : 100_000;

const SETUPS = [
  { title: 'no page', viewers: 0, subjects: 10 },
  { title: 'page, no viewer', hasPage: true, viewers: 0, subjects: 10 },
  { title: 'page, 1 viewer', hasPage: true, viewers: 1, subjects: 10 },
  { title: 'page, 5 viewers', hasPage: true, viewers: 5, subjects: 10 },
  { title: 'no page', viewers: 0, subjects: MANY },
  { title: 'page, 1 viewer', hasPage: true, viewers: 1, subjects: MANY },
];

/** Each has a server of its own, so that the commands of the others are not among its own. */
async function start(setup) {
  const server = await startMeasuredServer();
  const options = { name: setup.title, execArgv: ['--expose-gc'] };
  const child = new AnsweringProcess(CHILD, [JSON.stringify({ ...setup, url: server.address })], options);
  const { port } = await child.answer();
  return { setup, server, child, port, redis: server.connect(), rounds: [] };
}

/** Opens the stream of a page, and reads it until it is closed. */
function view(port) {
  const request = get({ port, host: '127.0.0.1', path: '/rate-limits/events' });
  return new Promise((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`the stream has status ${response.statusCode}`));
      response.on('error', () => {}).resume();
      resolve(() => request.destroy());
    });
  });
}

/** The commands so far: those of functions and scripts as well. */
async function commands(redis) {
  const calls = [...(await redis.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)];
  return calls.reduce((sum, [, name, number]) => sum + (name === 'info' ? 0 : Number(number)), 0);
}

/** The bytes of the keys of the page; the heartbeats are those of the limiter. */
async function bytes(redis) {
  const keys = await redis.keys('*{instances}:*');
  const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function measure({ setup, server, child, port, redis }) {
  const close = await Promise.all(Array.from({ length: setup.viewers }, () => view(port)));
  await sleep(1000);
  const sent = await commands(redis);
  await sleep(IDLE_MS);
  const idle = ((await commands(redis)) - sent) / (IDLE_MS / 1000);
  const before = await server.cpuMicros();
  const { decisions, cpuMicros, heap, seconds } = await child.ask({ ms: MS, rate: RATE });
  const figures = {
    rate: decisions / seconds,
    commands: idle,
    server: ((await server.cpuMicros()) - before) / 1000 / seconds,
    client: cpuMicros / 1000 / seconds,
    bytes: await bytes(redis),
    heap,
  };
  for (const each of close) each();
  return figures;
}

const places = [];
for (const setup of SETUPS) places.push(await start(setup));
for (let round = 0; round < ROUNDS; round++) {
  progress(`round ${round + 1} of ${ROUNDS}`);
  for (let turn = 0; turn < places.length; turn++) {
    const place = places[(turn + round) % places.length];
    place.rounds.push(await measure(place));
  }
}
for (const { child, redis, server } of places) {
  await child.stop();
  redis.disconnect();
  await server.stop();
}

/** Compares a figure with that of the process without the page in the same round. Returns the median. */
function compared({ setup, rounds }, figure, compare) {
  const base = places.find((each) => !each.setup.hasPage && each.setup.subjects === setup.subjects);
  return median(rounds.map((each, round) => compare(each[figure], base.rounds[round][figure])));
}

const FIGURES = Object.keys(places[0].rounds[0]);
const rows = places.map((place) => {
  const each = (figureOf) => Object.fromEntries(FIGURES.map((figure) => [figure, figureOf(figure)]));
  return {
    ...place.setup,
    ...each((figure) => median(place.rounds.map((round) => round[figure]))),
    times: each((figure) => compared(place, figure, (one, other) => one / other)),
    added: each((figure) => compared(place, figure, (one, other) => one - other)),
    rounds: place.rounds,
  };
});

const ratio = (figure) => (row) => `${threeDigits(row[figure])} (${times(row.times[figure])})`;
const sum = (figure, scale) => (row) =>
  `${threeDigits(row[figure] / scale)} (+${threeDigits(Math.max(0, row.added[figure] / scale))})`;
report(machine({ redis: places[0].server.version, 'decisions per second': RATE, rounds: ROUNDS }), rows, {
  process: (row) => row.title,
  subjects: (row) => count(row.subjects),
  'commands/s without requests': sum('commands', 1),
  'CPU, ms/s': ratio('client'),
  'CPU of Redis, ms/s': ratio('server'),
  'kB in Redis': (row) => threeDigits(row.bytes / 1000),
  'heap, MB': sum('heap', 1e6),
});
