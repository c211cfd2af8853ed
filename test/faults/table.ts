import { availableParallelism } from 'node:os';
import { findRedisBinary } from '../support/redis/redis-binary.mjs';
import type { ServerFault } from './fault.js';
import type { Run } from './run-fault.js';
import { tell } from './scale.js';

const COLUMNS: Readonly<Record<string, (run: Run) => string>> = {
  'p50 / p99 / longest wait, ms': ({ during: { wait } }) =>
    [wait.p50, wait.p99, wait.max].map(milliseconds).join(' / '),
  'without delays, ms': ({ during }) => milliseconds(during.longestOwnWait),
  Redis: ({ during }) => String(during.redis),
  fallback: ({ during }) => String(during.fallback),
  cache: ({ during }) => String(during.cache),
  'most for a guest': ({ phases }) =>
    String(Math.max(...Object.values(phases).map(({ mostOfAGuest }) => mostOfAGuest))),
  'heap, MB': ({ rest }) => `${megabytes(rest.before.heap)} → ${megabytes(rest.after.heap)}`,
  handles: ({ rest }) => `${rest.before.handles.length} → ${rest.after.handles.length}`,
  'breaker opened': ({ turns }) => String(turns.filter(({ state }) => state === 'open').length),
  'recovered after, ms': ({ healMs }) => String(Math.round(healMs)),
};

/** Prints a Markdown table of runs, for docs/reliability.md. */
export function printTable(runs: ReadonlyMap<ServerFault, Run>): void {
  const titles = ['fault', ...Object.keys(COLUMNS)];
  const rows = Array.from(runs, ([{ name }, run]) => [
    name,
    ...Object.values(COLUMNS).map((spell) => spell(run)),
  ]);
  const lines = [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  tell(
    [`node ${process.versions.node}, ${findRedisBinary()!}, cores ${availableParallelism()}`, ...lines].join(
      '\n',
    ),
  );
}

function milliseconds(value: number): string {
  return value.toFixed(value < 1 ? 2 : value < 10 ? 1 : 0);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
