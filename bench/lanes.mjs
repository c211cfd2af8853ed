// The load of the benchmarks: a number of lanes, each of which requests the next decision when it has the previous
// one.
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Number of decisions after which timers and sockets get a turn of the event loop, which limiters in memory would
 * otherwise never allow.
 */
const A_TURN = 1024;

/**
 * Requests decisions of a contestant for a while. Returns the number of decisions, the seconds, the CPU time of this process in microseconds, and the duration of every nth decision in microseconds.
 *
 * @param {{ ask: (subject: string) => unknown, isAllowed: (answer: any) => boolean }} contestant
 * @param {object} load
 * @param {readonly string[]} load.subjects used in turn
 * @param {number} load.lanes how many decisions are in flight
 * @param {number} load.ms for how long
 * @param {number} [load.atLeast] the minimum number of decisions
 * @param {boolean} [load.allowed] the expected outcome of every decision; absent: either one
 * @param {number} [load.every] one of this many decisions is timed, so that reading the clock costs almost nothing
 */
export async function drive(
  contestant,
  { subjects, lanes, ms, atLeast = 0, allowed = undefined, every = 13 },
) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const run = { asked: 0, isOver: false, latencies: [], until: startedAt + ms };
  const load = { subjects, atLeast, allowed, every };
  await Promise.all(Array.from({ length: lanes }, () => lane(contestant, load, run)));
  const { user, system } = process.cpuUsage(before);
  return {
    decisions: run.asked,
    seconds: (performance.now() - startedAt) / 1000,
    clientMicros: user + system,
    latencies: run.latencies,
  };
}

async function lane({ ask, isAllowed }, { subjects, atLeast, allowed, every }, run) {
  while (!run.isOver) {
    if (run.turn) await run.turn;
    const number = run.asked++;
    if (number % A_TURN === A_TURN - 1) run.turn = nextTurn().then(() => (run.turn = undefined));
    const askedAt = number % every === 0 ? performance.now() : undefined;
    let answer = false;
    try {
      answer = isAllowed(await ask(subjects[number % subjects.length]));
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal; // Some limiters throw the result of a denied request, which is not an error.
    }
    if (allowed !== undefined && answer !== allowed)
      throw new Error(`Decision ${number} was ${answer ? '' : 'not '}to let in, unlike what is measured`);
    if (askedAt === undefined) continue;
    const now = performance.now();
    run.latencies.push((now - askedAt) * 1000);
    run.isOver = now >= run.until && run.asked >= atLeast;
  }
}
