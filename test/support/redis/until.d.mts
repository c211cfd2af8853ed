/**
 * Resolves as soon as the condition holds, looking again every few milliseconds.
 *
 * @param what said in the error when it never holds
 * @param timeoutMs @default 10_000
 */
export function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs?: number,
): Promise<void>;
