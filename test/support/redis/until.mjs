import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves as soon as the condition is met; checks it every few milliseconds.
 *
 * @param {() => boolean | Promise<boolean>} condition
 * @param {string} what describes the condition in the error if it is never met
 * @param {number} timeoutMs
 */
export async function until(condition, what, timeoutMs = 10_000) {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(5);
  }
}
