// Measures how many requests several processes allow together while Redis cannot decide. Prints a table with the medians of five outages each:
//
//   npm run build && node test/fallback/measure-outage.mjs
import { startSharedServer, stopSharedServer } from '../support/redis/shared-server.mjs';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { LimitedApps } from './limited-apps.mjs';
import { allowedIn, FAULTS, outage, sum } from './outage.mjs';

const LIMIT = 100;
const OUTAGES = 5;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

await startSharedServer(); // Finds a server program, or downloads one.
await stopSharedServer();
const server = await startRedisServer();
console.log(
  '| processes | Redis is | counted by Redis | allowed by the fallback | of these by one process | at most |',
);
console.log('| --- | --- | --- | --- | --- | --- |');
for (const processes of [1, 4, 16]) {
  const apps = await LimitedApps.start(processes, server.url);
  for (const [index, fault] of Object.keys(FAULTS).entries()) {
    const figures = [];
    for (let nth = 1; nth <= OUTAGES; nth++) {
      const { answers } = await outage(server, apps, fault, `203.0.${index}.${nth}`);
      const { redis, fallback } = allowedIn(answers);
      figures.push([redis, sum(fallback), Math.max(...fallback)]);
    }
    const medians = figures[0].map((_, at) => median(figures.map((each) => each[at])));
    console.log(`| ${[processes, fault, ...medians, Math.max(LIMIT, processes)].join(' | ')} |`);
  }
  await apps.close();
}
await server.stop();
