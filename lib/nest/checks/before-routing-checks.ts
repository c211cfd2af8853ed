import type { ServerResponse } from 'node:http';
import { problem, unknownName } from '../../contracts/rate-limit-config.error.js';
import type { BeforeRouting, EarlyRule } from '../request/before-routing.js';
import type { RouteLimit } from '../request/route-limit.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { originsOf, type RuleFields } from '../rules/rule-layers.js';
import type { Warnings } from '../warnings.js';

const SUBJECTS = '"ip", "everyone", a header, or a function of the request';

/** Returns the problems of a rule that is applied before routing: it has no route, no user and no place to wait. */
export function earlyProblems({ path, fields, parts, isHeld, waits, delays }: RouteLimit): readonly string[] {
  const rejection = (field: string, value: unknown, allowed: string): string =>
    `${problem(`${path}.${field}`, value, allowed)}, since limitBeforeRouting() applies it before routing`;
  const { by, plan, plans, scope, maxWait, algorithm, settle } = fields as RuleFields;
  const ownWait = isHeld || delays;
  return [
    ...(parts.user ? [rejection('by', by, SUBJECTS)] : []),
    ...((plan ?? plans) ? [rejection('plans', plans ?? plan, 'none')] : []),
    ...(settle ? [rejection('settle', settle, 'none')] : []),
    ...(scope === 'route' ? [rejection('scope', scope, '"shared"')] : []),
    ...(ownWait ? [rejection('algorithm', algorithm, 'one that neither holds permits nor delays')] : []),
    ...(waits && !ownWait ? [rejection('maxWait', maxWait, 'none')] : []),
  ];
}

/** Returns the names that `limitBeforeRouting` got, and that `onDemand` does not have. */
export function unknownEarlyRules({ rules }: BeforeRouting, declared: DeclaredRules): readonly string[] {
  const { onDemandNames, everyRoute } = declared;
  const unknown = [...rules.keys()].filter((name) => !onDemandNames.includes(name));
  return unknown.map((name) => {
    const path = `limitBeforeRouting("${name}")`;
    return everyRoute.includes(name)
      ? `${path}: a rule in \`rules\`, which each handler counts on its own; move it to \`onDemand\``
      : unknownName(`${path}: no rule in \`onDemand\` has this name`, name, onDemandNames);
  });
}

/** Returns the problems of rules of a handler that override a rule which is applied before: its limit would not count. */
export function earlyOverrides(
  rules: readonly RuleFields[],
  { rules: early }: BeforeRouting,
  owner: string,
): readonly string[] {
  return rules.flatMap((rule) => {
    const name = rule['name'] as string;
    if (!early.has(name)) return [];
    const field = Object.entries(originsOf(rule)).find(([, origin]) => origin.startsWith('@RateLimit'))?.[0];
    if (field === undefined) return [];
    return (
      `rule "${name}" of ${owner}: overrides ${field}, but limitBeforeRouting() has applied the rule to the request ` +
      `already; write @RateLimit('${name}') without fields, or give the rule of the handler another name`
    );
  });
}

/** Returns the requests that a rule is applied to, in words. */
export function coverageOf({ exclude }: EarlyRule): string {
  const paths = exclude.size === 0 ? '' : `${[...exclude].join(', ')} and `;
  return `every HTTP request before routing, except ${paths}CORS preflights`;
}

/** A hint at start. The options of `enableCors()` cannot be read: `RL_HEADERS_UNEXPOSED` reports a response without them. */
export const EXPOSED_HINT =
  'limitBeforeRouting(): code in browsers can read RateLimit and Retry-After of another origin only if CORS exposes them: ' +
  "app.enableCors({ exposedHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] })";

/** Warns that the option `cors` sets the headers of CORS after the rule is applied: browsers cannot read its denials. */
export function warnOfLateCors(name: string, warnings: Warnings): void {
  warnings.warn(
    'RL_CORS_AFTER_LIMIT',
    `A 429 of limitBeforeRouting("${name}") has no CORS headers, so that browsers cannot read it, since the option \`cors\` of ` +
      'NestFactory.create() sets them later. Remove the option, and call app.enableCors() before limitBeforeRouting().',
  );
}

/** Warns if a response to another origin exposes no header of rate limits to the code of its page. */
export function warnOfUnexposed(response: Pick<ServerResponse, 'getHeader'>, warnings: Warnings): void {
  const exposed = String(response.getHeader('access-control-expose-headers') ?? '').toLowerCase();
  const isShared = response.getHeader('access-control-allow-origin') !== undefined;
  if (!isShared || exposed === '*' || /ratelimit|retry-after/.test(exposed)) return;
  warnings.warn(
    'RL_HEADERS_UNEXPOSED',
    'Code in browsers cannot read RateLimit and Retry-After of a response to another origin, since CORS does not expose them. ' +
      "Set exposedHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] in enableCors().",
  );
}
