import { setTimeout as sleep } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../contracts/timer.js';

const now = performance.now.bind(performance);

/**
 * Resolves after a number of milliseconds. If the signal aborts, the timer is cleared.
 *
 * @throws the signal's reason if it aborts
 */
export async function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  try {
    // A timer may fire a little early.
    const until = now() + milliseconds;
    for (let left = milliseconds; left > 0; left = until - now()) {
      await sleep(Math.min(Math.ceil(left), LONGEST_TIMER_MS), undefined, { ...(signal && { signal }) });
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
