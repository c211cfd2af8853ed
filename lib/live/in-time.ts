import { after } from '../contracts/timer.js';

/**
 * Returns the result of a source, which may hang.
 *
 * @param within milliseconds
 * @param late the message of the error
 * @throws Error if there is no result in time
 */
export function inTime<Result>(
  ask: () => Promise<Result>,
  within: number,
  late = `no result within ${within} ms`,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = after(within, () => reject(new Error(late)));
    Promise.resolve()
      .then(ask)
      .then(resolve, reject)
      .finally(() => timer.stop());
  });
}
