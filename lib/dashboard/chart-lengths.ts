/** Number of seconds that the chart of the application shows. */
export const CHART_S = 120;

/** Number of seconds that charts of a rule show. */
export const RULE_CHART_S = 60;

/** Returns the start of the first second of a chart, in milliseconds since the epoch. The last one is the current second. */
export function chartStart(now: number, length: number): number {
  return (Math.floor(now / 1000) + 1 - length) * 1000;
}
