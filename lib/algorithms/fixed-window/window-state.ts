/** The stored state of a fixed window or a calendar window. */
export interface FixedWindowState {
  /** Permits taken in the window. */
  readonly count: number;
  /** Start of the window, in microseconds since the epoch. */
  readonly start: number;
  /** Permits beyond the limit, which are charged to the windows that follow. */
  readonly debt: number;
  /** Length in microseconds. Until it ends, it also applies to a rule whose own window is shorter or ends sooner. */
  readonly window: number;
}
