/** A rule to try an algorithm with. Tests, benches and tables map over the examples of all algorithms. */
export interface Example {
  /** What differs from the first example, such as `by the clock`; `''` for the first one. */
  readonly variant: string;
  /** The fields of the rule that differ from `{ algorithm, limit, window }`. */
  readonly rule: (quota: ExampleQuota) => Readonly<Record<string, unknown>>;
  /** Whether a new subject can take `limit` permits at once. @default true */
  readonly allAtOnce?: false;
  /** Whether its state grows with each permit. @default false */
  readonly keepsEntries?: true;
}

/** A limit to state an example for. */
export interface ExampleQuota {
  readonly limit: number;
  /** Milliseconds. */
  readonly windowMs: number;
}

/** Returns the rule of an example for a limit, named by its algorithm and variant. */
export function ruleOf(
  { name, leases = false }: { readonly name: string; readonly leases?: boolean },
  { variant, rule }: Example,
  quota: ExampleQuota,
): Readonly<Record<string, unknown>> {
  const window = leases ? {} : { window: `${quota.windowMs}ms` };
  return {
    name: `${name} ${variant}`.trim(),
    algorithm: name,
    limit: quota.limit,
    ...window,
    ...rule(quota),
  };
}
