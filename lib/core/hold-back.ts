import { setTimeout as sleep } from 'node:timers/promises';

/** Node fires a longer timer at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Resolves after so many milliseconds, without a timer left behind when the signal aborts.
 *
 * @throws the signal's reason if it aborts
 */
export async function holdBack(milliseconds: number, signal?: AbortSignal): Promise<void> {
  try {
    for (let left = milliseconds; left > 0; left -= LONGEST_TIMER) {
      await sleep(Math.min(left, LONGEST_TIMER), undefined, { ...(signal && { signal }) });
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
