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

/** A decided request. Times are in microseconds since the start of the lane. */
interface DrawnRequest {
  readonly at: number;
  /** When it proceeds. */
  readonly goesAt: number;
  readonly outcome: 'allowed' | 'delayed' | 'denied';
}

/** Returns the paths of the requests: a bar up is allowed, a slope delayed, a short bar down denied. */
export function pathsOf(decided: readonly DrawnRequest[], lane: Lane) {
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

/** Returns the seconds that the axis names: every 1, 2, 5, 10, 15, 20 or 30 s, with room for each. */
export function ticksOf({ width, seconds }: Pick<Lane, 'width' | 'seconds'>): readonly number[] {
  const step = [1, 2, 5, 10, 15, 20, 30].find((each) => (each / seconds) * width >= 48) ?? 60;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, nth) => nth * step);
}
