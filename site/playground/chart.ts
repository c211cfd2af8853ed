import { xOf, type Lane } from '../../lib/replay/lane.js';
import type { Decided, Level } from './run.js';

/** Returns the area below the permits that are left, as a share of the most of them. */
export function areaOf(levels: readonly Level[], capacity: number, lane: Lane): string {
  const { above, width } = lane;
  const y = (remaining: number) =>
    (above - (Math.min(remaining, capacity) / Math.max(1, capacity)) * (above - 10)).toFixed(1);
  const points = levels.map(({ at, remaining }) => `H${xOf(lane, at)}V${y(remaining)}`);
  return `M0 ${above}${points.join('')}H${width}V${above}Z`;
}

/** Returns the table of all decisions: one row for each instant with a request of any rule. */
export function rowsOf(
  runs: readonly (readonly Decided[])[],
): readonly (readonly [at: number, ...(Decided | undefined)[]])[] {
  const rows = new Map<string, [number, ...(Decided | undefined)[]]>();
  for (const [index, decided] of runs.entries()) {
    const seen = new Map<number, number>();
    for (const request of decided) {
      const nth = seen.get(request.at) ?? 0;
      seen.set(request.at, nth + 1);
      const key = `${request.at} ${nth}`;
      const row = rows.get(key) ?? [request.at, ...runs.map(() => undefined)];
      row[index + 1] = request;
      rows.set(key, row);
    }
  }
  return [...rows.values()].toSorted(([one], [other]) => one - other);
}
