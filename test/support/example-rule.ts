import type { Example, ExampleQuota } from '../../lib/algorithms/definition.js';

/** Returns the rule of an example, with the algorithm and the variant as its name. */
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
