/** Returns the share of one of several processes: at least 1 permit (0 of 0), so that no process denies everything. */
export function shareOf(permits: number, processes: number): number {
  return permits === 0 ? 0 : Math.max(1, Math.floor(permits / processes));
}
