/** What is stored of a window, of the clock's or of the calendar's. */
export interface FixedWindowState {
  /** Permits taken in the window. */
  readonly count: number;
  /** The window's start, in microseconds. */
  readonly start: number;
  /** Permits that the windows after it will start with. */
  readonly debt: number;
  /** How long it is, in microseconds: a rule whose own is shorter, or ends sooner, goes by it until it ends. */
  readonly window: number;
}
