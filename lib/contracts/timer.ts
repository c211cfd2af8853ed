/** The longest delay of a Node.js timer: a timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A timer that can be stopped. It does not keep the process alive. */
export interface Timer {
  stop(): void;
}

/** Calls back once after a delay of any length, in milliseconds. */
export function after(delayMs: number, callback: () => void): Timer {
  let left = Math.max(0, Math.ceil(delayMs));
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const step = Math.min(left, LONGEST_TIMER_MS);
    left -= step;
    timer = setTimeout(left > 0 ? wait : callback, step).unref();
  };
  wait();
  return { stop: () => clearTimeout(timer) };
}

/** Calls back repeatedly at an interval of any length, in milliseconds. */
export function every(intervalMs: number, callback: () => void): Timer {
  const repeat = (): void => {
    timer = after(intervalMs, repeat);
    callback();
  };
  let timer = after(intervalMs, repeat);
  return { stop: () => timer.stop() };
}
