import { setTimeout as sleep } from 'node:timers/promises';

/** What a Cluster says of a call that it has sent from one server to the next in vain: nothing was executed. */
const ON_THE_MOVE = /^Too many Cluster redirections\. Last error: ReplyError: (TRYAGAIN|ASK|MOVED)\b/;

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;

/** Whether a Redis Cluster could not run a call because some of its keys have moved, and others have not. */
export function isOnTheMove(error: unknown): boolean {
  return error instanceof Error && ON_THE_MOVE.test(error.message);
}

/**
 * Asks again, with pauses, until the keys of a call are on one server. The last time leaves the server a
 * quarter of the deadline to answer in.
 *
 * @param ask asks once, for so many milliseconds
 * @param failure what the call has failed by
 * @param until when the deadline ends, by `performance.now()`
 * @throws Error TRYAGAIN, whichever server was asked last, or what else it failed by in the end
 */
export async function askUntilMoved(
  ask: (within: number) => Promise<unknown>,
  failure: unknown,
  until: number,
): Promise<unknown> {
  const least = (until - performance.now()) / 4;
  let error = failure;
  for (let pause = FIRST_PAUSE_MS; isOnTheMove(error); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const wait = pause * (0.5 + Math.random() / 2);
    if (until - performance.now() - wait < least) break;
    await sleep(wait);
    try {
      return await ask(Math.max(least, until - performance.now()));
    } catch (next) {
      error = next;
    }
  }
  throw isOnTheMove(error) ? tryAgainError(error) : error;
}

/** ioredis names the server that was asked last, which tells nothing. */
function tryAgainError(cause: unknown): Error {
  const error = new Error('TRYAGAIN the keys of a request are on two servers while their slot moves', {
    cause,
  });
  return Object.assign(error, { name: 'ReplyError' });
}
