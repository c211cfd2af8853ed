import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { nearest } from '../../contracts/nearest.js';
import type { Routes } from '../request/routes.js';

const quoted = (name: string): string => `"${name}"`;

/**
 * Returns the error for a rule name that the module's options do not contain.
 *
 * @param known the names in the options
 */
export function unknownRule(name: string, known: readonly string[], routes: Routes): RateLimitConfigError {
  const path = `rule ${quoted(name)}: not in the module's \`onDemand\` or \`rules\``;
  const decorated = [...routes.all()].flat().filter((limit) => limit.name === name);
  const [first] = decorated;
  if (first) {
    const others = decorated.length > 1 ? ` and ${decorated.length - 1} more` : '';
    const [, type, method] = /^(.*)\.(.*)$/.exec(first.owner)!;
    return new RateLimitConfigError([
      `${path}, but only in a decorator (${first.owner}${others}). Move it to \`onDemand\` and write ` +
        `@RateLimit(${quoted(name)}), or name a route: { route: [${type!}, '${method!}'], rule: ${quoted(name)} }`,
    ]);
  }
  const meant = nearest(name, known);
  const fix = meant === undefined ? '' : `; did you mean ${quoted(meant)}?`;
  const allowed = known.map(quoted).join(', ') || 'none, since there are none';
  return new RateLimitConfigError([`${path}; allowed: ${allowed}${fix}`]);
}
