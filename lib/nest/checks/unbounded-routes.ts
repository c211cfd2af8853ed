import type { RouteLimit } from '../request/route-limit.js';
import type { Warnings } from '../warnings.js';

const API_KEY = 'x-api-key';

/** Warns of routes on which a client can have any number of counters, since it chooses the subject itself. */
export class UnboundedRoutes {
  private readonly rules = new Map<string, { first: string; routes: number }>();

  /** Adds the rules of a route. */
  add(limits: readonly RouteLimit[]): void {
    if (limits.some(isBound)) return;
    for (const { sources, path, isEnforced } of limits) {
      const [header] = sources.headers;
      if (header === undefined || !isEnforced) continue;
      const { first = path, routes = 0 } = this.rules.get(header) ?? {};
      this.rules.set(header, { first, routes: routes + 1 });
    }
  }

  warn(warnings: Warnings): void {
    for (const [header, { first, routes }] of this.rules) {
      const others = routes > 1 ? ` (and ${routes - 1} more)` : '';
      warnings.warn(
        header === API_KEY ? 'RL_API_KEY_ALONE' : 'RL_HEADER_ALONE',
        `${first}${others} counts by the header "${header}", and no other rule of the route limits a client that ` +
          "sends another value with each request. Add a rule with by: 'ip', or verify the value before the rate " +
          "limit guard runs and count by: 'user'.",
        header,
      );
    }
  }
}

/** Whether a rule limits a client regardless of the headers that it sends. */
function isBound({ sources, skipsMissing, isEnforced }: RouteLimit): boolean {
  const canBeMissing = sources.user || sources.functions.length > 0;
  return isEnforced && sources.headers.length === 0 && !(skipsMissing && canBeMissing);
}
