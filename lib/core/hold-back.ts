import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves after so many milliseconds, without a timer left behind when the signal aborts.
 *
 * @throws the signal's reason if it aborts
 */
export async function holdBack(milliseconds: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { ...(signal && { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
