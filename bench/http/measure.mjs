// Measures the contestants of one platform. Every round measures all of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { median, percentile } from '../stats.mjs';
import { startApp } from './app-process.mjs';
import { CONTESTANTS } from './contestants.mjs';
import { latenciesAt } from './steady-rate.mjs';
import { Load } from './load.mjs';

/** Requests per second in the second part, which keeps no application busy. */
export const STEADY_RATE = 2000;

/** Calls a function with the applications of some contestants, and stops the applications afterwards. */
export async function withApps({ platform, contestants, server }, use) {
  await forgetAll(server);
  const starts = contestants.map((contestant) => {
    const database = CONTESTANTS.indexOf(contestant);
    return startApp(platform, contestant, contestant.redis && `${server.address}/${database}`);
  });
  try {
    return await use(await Promise.all(starts));
  } finally {
    for (const start of await Promise.allSettled(starts)) await start.value?.stop();
  }
}

async function forgetAll(server) {
  const client = server.connect();
  await client.flushall();
  client.disconnect();
}

/** Sends enough requests for the application's code to be compiled. */
export async function warmUp(app, answers) {
  const load = await Load.start(app);
  await load.begin(answers);
  load.stop();
}

/** Measures one round of one application at full load. The first responses do not count: they use up the limits. */
export async function saturated(app, server, { leadIn, window }) {
  const load = await Load.start(app);
  await load.begin(leadIn);
  const before = await usage(app, server);
  await sleep(window);
  const after = await usage(app, server);
  const latencies = load.end().sort((one, other) => one - other);
  load.stop();
  const requests = after.requests - before.requests;
  return {
    appMicros: (after.cpu - before.cpu) / requests,
    serverMicros: (after.serverCpu - before.serverCpu) / requests,
    perSecond: (requests / (after.at - before.at)) * 1000,
    busy: (after.cpu - before.cpu) / 1000 / (after.at - before.at),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

/** Measures one round of one application at a low request rate. */
export async function unhurried(app, { steady }) {
  const before = await app.ask('usage');
  const latencies = await latenciesAt(STEADY_RATE, steady / 1000, app);
  const after = await app.ask('usage');
  const requests = after.requests - before.requests;
  return { steadyMicros: (after.cpu - before.cpu) / requests, steadyP50: median(latencies) };
}

/** CPU time of the application and the server so far. The server has no other clients meanwhile. */
async function usage(app, server) {
  const [used, serverCpu] = await Promise.all([app.ask('usage'), server.cpuMicros()]);
  return { ...used, serverCpu };
}
