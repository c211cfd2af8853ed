import { sleep } from '../../../contracts/timer.js';
import type { Call, Caller } from '../wire/call.js';
import { DeadlineError, isClosed } from '../link/deadline.js';
import type { ClusterServers } from '../link/topology.js';

/** The error of a Cluster client for a call that was redirected between servers without success. */
const ON_THE_MOVE = /^Too many Cluster redirections\. Last error: ReplyError: (TRYAGAIN|ASK|MOVED)\b/;

/**
 * The error reply of a server to which the slot has just moved. ioredis assumes that a server has a script once it has
 * sent it, even if the server redirected the call without loading the script, and tries twice.
 */
const NO_SCRIPT = /^NOSCRIPT\b/;

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;

/** Whether a call was not executed because its slot is moving, and can be sent again unchanged. */
function isMoving(error: unknown, isShared: boolean): boolean {
  if (!(error instanceof Error)) return false;
  return NO_SCRIPT.test(error.message) || (!isShared && ON_THE_MOVE.test(error.message));
}

/** Whether a call has reached no server, since its slot has moved to one whose connection is not established yet. */
function isUnconnected(error: unknown, { isSent, keys }: Call, cluster?: ClusterServers): boolean {
  return isClosed(error) && !isSent && cluster?.hasNodeFor(keys[0]!) === true;
}

/**
 * Repeats a call that failed since its slot is moving, with pauses, until its keys are on one server. The last attempt
 * leaves the server a quarter of the deadline to reply.
 *
 * @param failure the error of the call, which is thrown if no slot is moving
 * @throws Error TRYAGAIN, or another error of the last attempt; the cause of TRYAGAIN is a DeadlineError if the last
 *   attempt got no reply
 */
export async function repeatMoving(
  caller: Caller,
  call: Call,
  failure: unknown,
  cluster?: ClusterServers,
): Promise<unknown> {
  const canRepeat = (last: unknown): boolean =>
    isMoving(last, call.isShared) || isUnconnected(last, call, cluster);
  if (!canRepeat(failure)) throw failure;
  let left = call.left?.() ?? 0; // A call that was not written is not repeated.
  const least = left / 4;
  let error = failure;
  for (let pause = FIRST_PAUSE_MS; canRepeat(error); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const wait = pause * (0.5 + Math.random() / 2);
    left -= wait;
    if (left < least) break;
    await sleep(wait);
    try {
      call.timeout = Math.max(least, left);
      return await caller.run(call);
    } catch (next) {
      left = Math.min(left, call.left!());
      error = next;
    }
  }
  // Also a timeout is due to the moving slot, since the last attempt has little time.
  throw error instanceof DeadlineError || isMoving(error, false) ? tryAgainError(error) : error;
}

/** Returns an error without the name of the last server, which ioredis adds and which does not help. */
function tryAgainError(cause: unknown): Error {
  const message = 'TRYAGAIN the keys of a request are on two servers while their slot moves';
  return Object.assign(new Error(message, { cause }), { name: 'ReplyError' });
}
