import { existsSync, readFileSync } from 'node:fs';

/** What Linux counts the time in that a host takes from the machine, in milliseconds. */
const TICK_MS = 10;

/**
 * Measures from now on for how long processes did not run that could have: other processes had the processors, or
 * the host gave the machine none. No deadline can be kept for a server that is not run.
 *
 * @param pids those of the moment; a process that begins later counts from its beginning
 * @returns how long so far, of all together, in milliseconds; `Infinity` where the system does not say
 */
export function notRunSince(pids: () => readonly number[]): () => number {
  if (!existsSync('/proc/self/schedstat')) return () => Infinity;
  const before = new Map(pids().map((pid) => [pid, waitOf(pid)]));
  const stolen = stolenMs();
  return () => pids().reduce((sum, pid) => sum + waitOf(pid) - (before.get(pid) ?? 0), stolenMs() - stolen);
}

/** Ready to run, and not run. */
function waitOf(pid: number): number {
  const [, nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

function stolenMs(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/);
  return Number(ticks[7]) * TICK_MS;
}
