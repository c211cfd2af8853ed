import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlineError } from './deadline.js';

/** What a Cluster says of a call that it has sent from one server to the next in vain. */
const ON_THE_MOVE = /^Too many Cluster redirections\. Last error: ReplyError: (TRYAGAIN|ASK|MOVED)\b/;

/**
 * What a server says to which the slot has just moved. ioredis takes a script for known to a server once it has sent
 * it there, though the server sent it on without reading it, and tries twice.
 */
const NO_SCRIPT = /^NOSCRIPT\b/;

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;

/** Whether a call was not executed since its slot is on the move, and is to be sent again as it is. */
export function isOnTheMove(error: unknown, { isShared }: Sent): boolean {
  if (!(error instanceof Error)) return false;
  return NO_SCRIPT.test(error.message) || (!isShared && ON_THE_MOVE.test(error.message));
}

interface Sent {
  /** Whether it has several requests, of which only some may have keys that have moved. */
  readonly isShared: boolean;
}

/**
 * Sends a call again, with pauses, until its keys are on one server. The last time leaves the server a quarter of
 * the deadline to answer in.
 *
 * @param send sends it once, for so many milliseconds
 * @param failure what the call has failed by
 * @param until when the deadline ends, by `performance.now()`
 * @throws Error TRYAGAIN, whichever server was asked last, or what else it failed by in the end; its cause is a
 *   DeadlineError if the last time was not answered
 */
export async function sendUntilMoved(
  call: Sent,
  send: (within: number) => Promise<unknown>,
  failure: unknown,
  until: number,
): Promise<unknown> {
  const least = (until - performance.now()) / 4;
  let error = failure;
  for (let pause = FIRST_PAUSE_MS; isOnTheMove(error, call); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const wait = pause * (0.5 + Math.random() / 2);
    if (until - performance.now() - wait < least) break;
    await sleep(wait);
    try {
      return await send(Math.max(least, until - performance.now()));
    } catch (next) {
      error = next;
    }
  }
  throw isOfMove(error) ? tryAgainError(error) : error;
}

/** In the little time that is left for the last time, a server may not answer; the slot is on the move as well then. */
function isOfMove(error: unknown): boolean {
  return error instanceof DeadlineError || isOnTheMove(error, { isShared: false });
}

/** ioredis names the server that was asked last, which tells nothing. */
function tryAgainError(cause: unknown): Error {
  const error = new Error('TRYAGAIN the keys of a request are on two servers while their slot moves', {
    cause,
  });
  return Object.assign(error, { name: 'ReplyError' });
}
