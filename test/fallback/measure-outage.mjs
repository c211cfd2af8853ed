// Measures what several processes allow together while Redis cannot decide, and prints it as a table:
//
//   npm run build && node test/fallback/measure-outage.mjs
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

const PROCESS = fileURLToPath(new URL('limited-process.mjs', import.meta.url));
const LIMIT = 100;
const USED_BEFORE = 40;

/** Each makes a Redis that has decided unable to decide. */
export const FAULTS = {
  killed: (server) => server.kill(),
  'stopped by SIGSTOP': (server) => server.pause(),
  'starved: stopped and continued every 300 ms': (server) => starve(server),
};

async function starve(server) {
  await server.pause();
  const timer = setInterval(() => void server.resume().then(() => server.pause()), 300);
  return () => clearInterval(timer);
}

async function start(options) {
  const child = fork(PROCESS, [JSON.stringify(options)]);
  await once(child, 'message');
  const ask = async (command, value) => {
    child.send({ command, value });
    return (await once(child, 'message'))[0].answer;
  };
  return { child, ask };
}

/** What so many processes allow of 100, of which Redis has counted 40, once a fault is there. */
export async function measure(processes, fault) {
  const server = await startRedisServer();
  const options = { url: server.url, prefix: 'outage:' };
  const all = await Promise.all(Array.from({ length: processes }, () => start(options)));
  await until(
    async () => (await Promise.all(all.map(({ ask }) => ask('known')))).every((known) => known === processes),
    'all processes to be counted',
    20_000,
  );
  await all[0].ask('ask', USED_BEFORE);
  const end = await FAULTS[fault](server);
  const figures = await Promise.all(all.map(({ ask }) => ask('ask', 2 * LIMIT)));
  end?.();
  await server.resume().catch(() => undefined);
  await Promise.all(all.map(({ ask }) => ask('close').catch(() => undefined)));
  await server.stop();
  const sum = (source) => figures.reduce((total, each) => total + each[source], 0);
  return {
    redis: sum('redis'),
    fallback: sum('fallback'),
    mostOfOne: Math.max(...figures.map((each) => each.fallback)),
    bound: Math.max(LIMIT, processes),
    isReported: figures.every(({ events }) => events.includes('fallback')),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(
    '| processes | Redis is | counted by Redis | allowed by the fallback | of these by one process | at most |',
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const processes of [1, 4, 16]) {
    for (const fault of Object.keys(FAULTS)) {
      const { redis, fallback, mostOfOne, bound } = await measure(processes, fault);
      console.log(`| ${processes} | ${fault} | ${redis} | ${fallback} | ${mostOfOne} | ${bound} |`);
    }
  }
}
