// The load of the benches: so many lanes at once, each of which asks again as soon as it is answered.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Decisions after which timers and sockets get a turn, which limiters in memory would never leave them. */
const A_TURN = 1024;

/**
 * Lets lanes ask a contestant for a while, and tells how many decisions that made, in how many seconds and
 * microseconds of this process's CPU, and how many microseconds every nth of them took.
 *
 * @param {{ ask: (subject: string) => unknown, isAllowed: (answer: any) => boolean }} contestant
 * @param {object} load
 * @param {readonly string[]} load.subjects asked for in turn
 * @param {number} load.lanes how many decisions are in flight
 * @param {number} load.ms for how long
 * @param {number} [load.atLeast] how many decisions it makes in any case
 * @param {boolean} [load.allowed] what every answer has to be; absent: either
 * @param {number} [load.every] of how many decisions one is timed, so that the clock costs next to nothing
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
      if (refusal instanceof Error) throw refusal; // Some throw what they refuse, which is none.
    }
    if (allowed !== undefined && answer !== allowed)
      throw new Error(`Decision ${number} was ${answer ? '' : 'not '}to let in, unlike what is measured`);
    if (askedAt === undefined) continue;
    const now = performance.now();
    run.latencies.push((now - askedAt) * 1000);
    run.isOver = now >= run.until && run.asked >= atLeast;
  }
}
