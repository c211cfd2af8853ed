// Limiters in processes of their own, as an application has one: code that several limiters use in one process is compiled
// for all of them, which slows down each.
import { AnsweringProcess } from './answering-process.mjs';

const CHILD = new URL('decide-for-parent.mjs', import.meta.url);

/**
 * Returns a function that opens a limiter in a new process, as one contestant.
 *
 * @param {'./contestants.mjs' | './memory-contestants.mjs'} from
 * @param {string} name of the function that opens it
 * @param {object} [options] for a function that returns that function
 */
export function inOwnProcess(from, name, options) {
  return async ({ server, subjects, limit }) => {
    const { address } = server ?? {};
    const task = { from, name, options, address, keys: subjects.length, limit };
    const process = await startProcess(task);
    return { ...together([process]), close: () => process.stop() };
  };
}

/** Returns a function that opens a limiter of contestants.mjs in a new process. */
export const onRedis = (name, options) => inOwnProcess('./contestants.mjs', name, options);

/** Returns a function that opens a limiter of memory-contestants.mjs in a new process. */
export const inMemory = (name) => inOwnProcess('./memory-contestants.mjs', name);

/**
 * Starts a number of processes, each with one limiter of contestants.mjs and its connection, and waits until they can
 * decide.
 *
 * @param {number} count
 * @param {{ name: string, options?: object, address: unknown, keys: number, limit: number }} task
 */
export function startProcesses(count, task) {
  const one = { from: './contestants.mjs', ...task };
  return Promise.all(Array.from({ length: count }, () => startProcess(one)));
}

async function startProcess(task) {
  const started = new AnsweringProcess(CHILD, [JSON.stringify(task)], { name: 'a deciding process' });
  await started.answer();
  return started;
}

/** Returns all processes as one contestant. Each returns the figures of `drive` of lanes.mjs. */
export const together = (processes) => ({
  async drive({ ms, atLeast, lanes, allowed, every }) {
    const runs = await Promise.all(processes.map((each) => each.ask({ ms, atLeast, lanes, allowed, every })));
    const sum = (figure) => runs.map((run) => run[figure]).reduce((total, value) => total + value);
    return {
      decisions: sum('decisions'),
      clientMicros: sum('clientMicros'),
      seconds: Math.max(...runs.map(({ seconds }) => seconds)),
      latencies: runs.flatMap(({ latencies }) => latencies),
    };
  },
});
