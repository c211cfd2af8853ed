/** The permits of one of several processes that share some between them: at least 1, so that none is locked out. */
export function shareOf(permits: number, processes: number): number {
  return permits === 0 ? 0 : Math.max(1, Math.floor(permits / processes));
}
