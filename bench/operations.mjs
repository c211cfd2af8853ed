// Measures the cost of the operations page for a process with 300 rules at a steady rate, beside the same process without it: commands and CPU time of Redis, CPU time and heap of the process.
//
//   node bench/operations.mjs [--quick] [--json]
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnsweringProcess } from './answering-process.mjs';
import { count, threeDigits } from './columns.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { median } from './stats.mjs';

const CHILD = new URL('operated-process.mjs', import.meta.url);
const ROUNDS = asked.quick ? 1 : 7;
const MS = asked.quick ? 2000 : 10_000;
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
  const child = new AnsweringProcess(CHILD, [JSON.stringify({ ...setup, url: server.url })], options);
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
  const before = [await commands(redis), await server.cpuMicros()];
  const { decisions, cpuMicros, heap, seconds } = await child.ask({ ms: MS, rate: RATE });
  const figures = {
    rate: decisions / seconds,
    commands: ((await commands(redis)) - before[0]) / seconds,
    server: ((await server.cpuMicros()) - before[1]) / 1000 / seconds,
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

/** The median of the differences from the process without the page in the same round. */
function added({ setup, rounds }, figure) {
  const base = places.find((each) => !each.setup.hasPage && each.setup.subjects === setup.subjects);
  return median(rounds.map((each, round) => each[figure] - base.rounds[round][figure]));
}

const rows = places.map((place) => {
  const names = Object.keys(place.rounds[0]);
  const each = (figureOf) => Object.fromEntries(names.map((figure) => [figure, figureOf(figure)]));
  const medians = each((figure) => median(place.rounds.map((round) => round[figure])));
  return { ...place.setup, ...medians, added: each((figure) => added(place, figure)), rounds: place.rounds };
});

/** A figure, and what the page adds to it. */
const both =
  (figure, scale = 1) =>
  (row) =>
    threeDigits(row[figure] / scale) +
    (row.hasPage ? ` (+${threeDigits(Math.max(0, row.added[figure] / scale))})` : '');
report(machine({ redis: places[0].server.version, 'decisions per second': RATE, rounds: ROUNDS }), rows, {
  process: (row) => row.title,
  subjects: (row) => count(row.subjects),
  'commands/s': both('commands'),
  'CPU, ms/s': both('client'),
  'CPU of Redis, ms/s': both('server'),
  'kB in Redis': (row) => threeDigits(row.bytes / 1000),
  'heap, MB': both('heap', 1e6),
});
