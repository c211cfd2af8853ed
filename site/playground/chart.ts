import type { Decided, Level } from './run.js';

/** The size of a lane in pixels, and its time axis. */
export interface Lane {
  readonly width: number;
  /** Height above the line, of allowed requests. */
  readonly above: number;
  /** Height below the line, of denied requests. */
  readonly below: number;
  readonly seconds: number;
}

/** Returns the horizontal position of an instant in microseconds. */
export function xOf({ width, seconds }: Pick<Lane, 'width' | 'seconds'>, at: number): number {
  return Number(((at / (seconds * 1e6)) * width).toFixed(1));
}

/** Returns the paths of the requests: a bar up is allowed, a slope delayed, a short bar down denied. */
export function pathsOf(
  decided: readonly Decided[],
  lane: Lane,
): Readonly<Record<Decided['outcome'], string>> {
  const { above, below } = lane;
  const paths = { allowed: '', delayed: '', denied: '' };
  for (const { at, goesAt, outcome } of decided) {
    const x = xOf(lane, at);
    if (outcome === 'allowed') paths.allowed += `M${x} ${above}V10`;
    else if (outcome === 'denied') paths.denied += `M${x} ${above + 3}V${above + below}`;
    else paths.delayed += `M${x} ${above}L${xOf(lane, goesAt)} 18V10`;
  }
  return paths;
}

/** Returns the area below the permits that are left, as a share of the most of them. */
export function areaOf(levels: readonly Level[], capacity: number, lane: Lane): string {
  const { above, width } = lane;
  const y = (remaining: number) =>
    (above - (Math.min(remaining, capacity) / Math.max(1, capacity)) * (above - 10)).toFixed(1);
  const points = levels.map(({ at, remaining }) => `H${xOf(lane, at)}V${y(remaining)}`);
  return `M0 ${above}${points.join('')}H${width}V${above}Z`;
}

/** Returns the seconds that the axis names: every 1, 2, 5, 10, 15, 20 or 30 s, with room for each. */
export function ticksOf({ width, seconds }: Pick<Lane, 'width' | 'seconds'>): readonly number[] {
  const step = [1, 2, 5, 10, 15, 20, 30].find((each) => (each / seconds) * width >= 48) ?? 60;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, nth) => nth * step);
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
