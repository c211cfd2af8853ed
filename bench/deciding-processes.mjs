// Child processes that decide on request.
import { AnsweringProcess } from './answering-process.mjs';

const CHILD = new URL('decide-for-parent.mjs', import.meta.url);

/**
 * Starts a number of processes, each with one limiter and its connection, and waits until they can decide.
 *
 * @param {number} count
 * @param {{ limiter: string, url: string, keys: number, limit: number, rule?: object }} task
 */
export function startProcesses(count, task) {
  return Promise.all(Array.from({ length: count }, () => startProcess(task)));
}

async function startProcess(task) {
  const started = new AnsweringProcess(CHILD, [JSON.stringify(task)], { name: 'a deciding process' });
  await started.answer();
  return started;
}

/** Returns all processes as one contestant. Each returns the figures of `drive` of lanes.mjs. */
export const together = (processes) => ({
  async drive({ ms, atLeast, lanes }) {
    const runs = await Promise.all(processes.map((each) => each.ask({ ms, atLeast, lanes })));
    const sum = (figure) => runs.map((run) => run[figure]).reduce((total, value) => total + value);
    return {
      decisions: sum('decisions'),
      clientMicros: sum('clientMicros'),
      seconds: Math.max(...runs.map(({ seconds }) => seconds)),
      latencies: runs.flatMap(({ latencies }) => latencies),
    };
  },
});
