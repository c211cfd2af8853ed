/** Options of `algorithm: 'fixed-window'`, whose window may also be a `'day'`, a `'week'` or a `'month'`. */
export interface FixedWindowOptions {
  /**
   * When a window that is a duration starts: at the first hit after the last one ended, or at the
   * multiples of the window since the Unix epoch (UTC), the same for every subject.
   * @default 'first-hit'
   */
  readonly align?: 'first-hit' | 'clock';
  /**
   * The time zone of a `'day'`, a `'week'` or a `'month'`, by its IANA name, such as `'Europe/Berlin'`.
   * @default 'UTC'
   */
  readonly timeZone?: string;
  /**
   * On what a `'week'` or a `'month'` starts: the ISO weekday, 1 (Monday) to 7 (Sunday), or the day of the
   * month, 1 to 28, which every month has.
   * @default 1
   */
  readonly anchor?: number;
}
