/** A request of a log. */
export interface LoggedRequest {
  /** Microseconds since the epoch. */
  readonly time: number;
  /** The subject; `undefined` if the line has none. */
  readonly subject: string | undefined;
}

/** Reads a line of a log. Returns `undefined` if the line is malformed. */
export type LineReader = (line: string) => LoggedRequest | undefined;

/** What is read of each line. */
export interface LineOptions {
  /** The fields that make the subject. */
  readonly by: readonly string[];
  /** Names of fields in the log, by the name that they are used as: `{ time: 'ts' }`. */
  readonly map: Readonly<Record<string, string>>;
}
