import { existsSync, readFileSync } from 'node:fs';

/** The unit, in milliseconds, in which Linux counts the time that a host takes from the machine. */
const TICK_MS = 10;

/**
 * Measures from now on how long processes were ready to run but did not run, because other processes used the
 * processors or the host did not run the machine. A server that does not run cannot keep a deadline.
 *
 * @param pids those of the moment; a process that starts later counts from its start
 * @returns the total time of all processes so far, in milliseconds; `Infinity` where the system does not report it
 */
export function notRunSince(pids: () => readonly number[]): () => number {
  if (!existsSync('/proc/self/schedstat')) return () => Infinity;
  const before = new Map(pids().map((pid) => [pid, waitOf(pid)]));
  const stolen = stolenMs();
  return () => pids().reduce((sum, pid) => sum + waitOf(pid) - (before.get(pid) ?? 0), stolenMs() - stolen);
}

/** Ready to run, but not running. */
function waitOf(pid: number): number {
  const [, nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

function stolenMs(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/);
  return Number(ticks[7]) * TICK_MS;
}
