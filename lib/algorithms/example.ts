/** An example rule of an algorithm. Tests, benchmarks and tables are generated from the examples of all algorithms. */
export interface Example {
  /** The difference from the first example, such as `by the clock`; `''` for the first example. */
  readonly variant: string;
  /** The fields of the rule that differ from `{ algorithm, limit, window }`. */
  readonly rule: (quota: ExampleQuota) => Readonly<Record<string, unknown>>;
  /** Whether a new subject can take `limit` permits at once. @default true */
  readonly allAtOnce?: false;
  /** Whether the state grows with each permit. @default false */
  readonly keepsEntries?: true;
}

/** The limit and the window of an example. */
export interface ExampleQuota {
  readonly limit: number;
  /** Milliseconds. */
  readonly windowMs: number;
}
