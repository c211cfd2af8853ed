/** Listeners by abort signal. */
const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal aborts; not if it has aborted before. Many calls for one signal add a single listener to it,
 * because Node.js warns of a leak at the eleventh.
 *
 * @returns a function that ends this
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const each = (): void => listener(); // One listener may be given twice.
  const known = listeners.get(signal) ?? listen(signal);
  known.add(each);
  return () => void known.delete(each);
}

function listen(signal: AbortSignal): Set<() => void> {
  const known = new Set<() => void>();
  listeners.set(signal, known);
  signal.addEventListener('abort', () => known.forEach((listener) => listener()), { once: true });
  return known;
}

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

/** Calls back repeatedly at an interval of up to 24 days, in milliseconds. It does not keep the process alive. */
export function every(intervalMs: number, callback: () => void): Timer {
  const timer = setInterval(callback, intervalMs).unref();
  return { stop: () => clearInterval(timer) };
}

/**
 * Resolves after a pause of any length, in milliseconds, and never earlier. It keeps the process alive.
 *
 * @throws the reason of the first signal that aborts
 */
export function sleep(milliseconds: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  if (milliseconds <= 0) return Promise.resolve();
  const until = performance.now() + milliseconds;
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      const left = until - performance.now();
      if (left > 0) {
        timer = after(left, wake, true); // A timer may fire a little early.
        return;
      }
      unhear();
      resolve();
    };
    const abort = (): void => {
      timer.stop();
      unhear();
      reject(signals.find((signal) => signal?.aborted)!.reason as Error);
    };
    let timer = after(milliseconds, wake, true);
    const ends = signals.map((signal) => signal && onAbort(signal, abort));
    const unhear = (): void => ends.forEach((end) => end?.());
    if (signals.some((signal) => signal?.aborted)) abort();
  });
}
