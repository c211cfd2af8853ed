// Runs outages of a Redis with several applications; see outage.d.mts.
import { setTimeout as sleep } from 'node:timers/promises';

const USED_BEFORE = 40;
const REQUESTS = 200;
const STOPPED_MS = 600;
const RUNNING_MS = 200;

export const FAULTS = {
  async killed(server) {
    await server.kill();
    return () => server.restart();
  },
  async 'stopped by SIGSTOP'(server) {
    await server.pause();
    return () => server.resume();
  },
  'starved: stopped for 600 ms and running for 200 ms, by turns': starve,
};

async function starve(server) {
  await server.pause();
  let isOver = false;
  const starving = (async () => {
    for (;;) {
      await sleep(STOPPED_MS);
      await server.resume();
      if (isOver) return;
      await sleep(RUNNING_MS);
      await server.pause();
    }
  })();
  return () => {
    isOver = true;
    return starving;
  };
}

export async function outage(server, apps, fault, client) {
  await apps.untilCounted();
  const before = await apps.reports();
  const first = await apps.useUp(USED_BEFORE, client);
  const end = await FAULTS[fault](server);
  const [one, ...others] = await apps.ask(REQUESTS, client);
  const after = await apps.reports();
  await end();
  return { answers: [[...first, ...one], ...others], before, after };
}

export function allowedIn(answers) {
  const allowed = (by) => answers.map((each) => each.filter(isAllowed).filter(by).length);
  return {
    redis: sum(allowed(({ source }) => source !== 'fallback')),
    fallback: allowed(({ source }) => source === 'fallback'),
  };
}

function isAllowed({ status }) {
  return status === 200;
}

export function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
