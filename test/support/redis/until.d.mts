/**
 * Resolves as soon as the condition is met; checks it every few milliseconds.
 *
 * @param what describes the condition in the error if it is never met
 * @param timeoutMs
 * @default 10_000
 */
export function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs?: number,
): Promise<void>;
