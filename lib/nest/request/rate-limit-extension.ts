import { addressHeaderOf, headerOf } from '../rules/by.js';
import type { RouteLimit } from './route-limit.js';

/** A rule of an operation: an element of its extension `x-rate-limit`. */
export interface RateLimitExtension {
  /** Name of the rule. */
  readonly name: string;
  /** Permits per window; `'dynamic'` if it depends on the request. */
  readonly limit: number | 'dynamic';
  /** Length of the window, such as `'1m'` or `'day'`; absent for `concurrency`, `'dynamic'` if it depends on the request. */
  readonly window?: string;
  /** Algorithm of the rule. */
  readonly algorithm: string;
  /** The subject: a keyword, the name of a header, or `'custom'` for a function; a list if `by` is one. */
  readonly by: string | readonly string[];
  /** Whether each route counts separately, or all routes with the rule together. */
  readonly scope: 'route' | 'shared';
  /** Most permits that can be taken at once, if the rule sets it. */
  readonly burst?: number;
  /** The fields of each plan, if the rule has plans. */
  readonly plans?: Readonly<Record<string, object>>;
}

/** Returns the extension for a rule of a route. */
export function extensionOf({ fields }: RouteLimit): RateLimitExtension {
  const { name, limit, window, by = 'ip', scope = 'route', plans } = fields;
  const { burst, algorithm = 'sliding-window-log' } = fields as { burst?: number; algorithm?: string };
  return {
    name,
    limit: typeof limit === 'function' ? 'dynamic' : Number(limit),
    ...(window !== undefined && { window: typeof window === 'function' ? ('dynamic' as const) : window }),
    algorithm,
    by: Array.isArray(by) ? by.map((each) => sourceOf(each)) : sourceOf(by),
    scope,
    ...(burst !== undefined && { burst }),
    ...(plans && { plans }),
  };
}

/** Returns a rule as text: `"default" 100 per 1m, sliding-window-log, by ip`. */
export function textOf(limit: RouteLimit): string {
  const { name, limit: permits, window, algorithm, by, scope } = extensionOf(limit);
  return [
    `"${name}" ${permits}${window === undefined ? '' : ` per ${window}`}`,
    algorithm,
    `by ${[by].flat().join(' and ')}`,
    ...(scope === 'shared' ? ['shared'] : []),
    ...(limit.isEnforced ? [] : ['not enforced']),
  ].join(', ');
}

function sourceOf(by: unknown): string {
  if (typeof by === 'string') return by;
  return headerOf(by) ?? addressHeaderOf(by) ?? 'custom';
}
