import { setTimeout as sleepOnce } from 'node:timers/promises';

/** The longest delay of a Node.js timer: a timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A timer that can be stopped. */
export interface Timer {
  stop(): void;
}

/**
 * Calls back once after a delay of any length, in milliseconds.
 *
 * @param keepsAlive whether the process stays alive until then
 */
export function after(delayMs: number, callback: () => void, keepsAlive = false): Timer {
  let left = Math.max(0, Math.ceil(delayMs));
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const step = Math.min(left, LONGEST_TIMER_MS);
    left -= step;
    timer = setTimeout(left > 0 ? wait : callback, step);
    if (!keepsAlive) timer.unref();
  };
  wait();
  return { stop: () => clearTimeout(timer) };
}

/** Calls back repeatedly at an interval of any length, in milliseconds. It does not keep the process alive. */
export function every(intervalMs: number, callback: () => void): Timer {
  const repeat = (): void => {
    timer = after(intervalMs, repeat);
    callback();
  };
  let timer = after(intervalMs, repeat);
  return { stop: () => timer.stop() };
}

/**
 * Resolves after a pause of any length, in milliseconds, and never earlier. It keeps the process alive.
 *
 * @throws the signal's reason if it aborts
 */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  try {
    // A timer may fire a little early.
    const until = performance.now() + milliseconds;
    for (let left = milliseconds; left > 0; left = until - performance.now()) {
      await sleepOnce(Math.min(Math.ceil(left), LONGEST_TIMER_MS), undefined, { ...(signal && { signal }) });
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
