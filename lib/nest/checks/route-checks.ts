import { shown } from '../../contracts/shown.js';
import type { RouteLimit } from '../request/route-limit.js';
import type { HandlerMethod } from '../request/routes.js';
import { addressHeaderOf } from '../rules/by.js';
import { FOR_LARGE_LIMITS } from '../../rules/rule-fields.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { Warnings } from '../warnings.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import type { Type } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';

/** Returns what is wrong with a rule of a handler without client addresses: it counts by IP; `undefined` if it does not. */
export function addressProblem({ path, fields }: RouteLimit, what: string): string | undefined {
  const part = [fields.by].flat().find((each) => each === 'ip' || addressHeaderOf(each) !== undefined);
  if (part === undefined) return undefined;
  return (
    `${path}.by: got ${shown(part)}, but ${what} has no client address; allowed: "everyone", or a function that finds the ` +
    'subject in the arguments: by: (context) => context.getArgByIndex(0).tenant'
  );
}

/** The largest limit of a rule without `algorithm` that causes no warning. */
const LARGEST_SILENT_LIMIT = 1000;

/** Memory of a log entry in Redis: 16.6 bytes were measured with 1,000 entries, less with more. */
const BYTES_PER_ENTRY = 17;

/**
 * Warns of a rule without `algorithm` whose limit needs a large log. The limit may come from a function.
 *
 * @param owner the name of the rule's target in messages, such as `OrdersController.list`
 */
export function warnOfLargeLog(
  warnings: Warnings,
  fields: RuleFields,
  { name, capacity, trial }: CompiledRule,
  owner: string,
): void {
  const limit = Math.max(capacity, trial?.capacity ?? 0);
  if (fields['algorithm'] !== undefined || limit <= LARGEST_SILENT_LIMIT) return;
  if (!warnings.isPending('RL_LARGE_LOG')) return;
  warnings.warn(
    'RL_LARGE_LOG',
    `Rule "${name}" of ${owner} has a limit of ${limit} and no algorithm: ${DEFAULT_ALGORITHM} stores an entry for each permit, up to ${limit * BYTES_PER_ENTRY} bytes for each subject. Set its algorithm to ${FOR_LARGE_LIMITS}, or to "${DEFAULT_ALGORITHM}" to confirm it.`,
  );
}

const API_KEY = 'x-api-key';

/** Warns of routes on which a client can have any number of counters, since it chooses the subject itself. */
export function warnOfUnboundedRoutes(routes: readonly (readonly RouteLimit[])[], warnings: Warnings): void {
  const pathsByHeader = new Map<string, string[]>();
  for (const { parts, path, isEnforced } of routes.filter((limits) => !limits.some(isBound)).flat()) {
    const [header] = parts.headers;
    if (header === undefined || !isEnforced) continue;
    pathsByHeader.set(header, [...(pathsByHeader.get(header) ?? []), path]);
  }
  for (const [header, [first, ...more]] of pathsByHeader) {
    const others = more.length > 0 ? ` (and ${more.length} more)` : '';
    warnings.warn(
      header === API_KEY ? 'RL_API_KEY_ALONE' : 'RL_HEADER_ALONE',
      `${first}${others} counts by the header "${header}", and no other rule of the route limits a client that ` +
        "sends another value with each request. Add a rule with by: 'ip', or verify the value before the rate " +
        "limit guard runs and count by: 'user'.",
      header,
    );
  }
}

/** Whether a rule limits a client regardless of the headers that it sends. */
function isBound({ parts, skipsMissing, isEnforced }: RouteLimit): boolean {
  const canBeMissing = parts.user || parts.functions.length > 0;
  return isEnforced && parts.headers.length === 0 && !(skipsMissing && canBeMissing);
}

const FOR_REQUESTS =
  'none on this handler, since only calls of provider methods wait for permits of a window; requests wait with algorithm "concurrency", or are delayed with "leaky-bucket"';

/**
 * Returns the problems of rules that wait where they cannot.
 *
 * @param isCall whether the handler is a method of a provider
 * @param limits the rules that limit the handler
 */
export function waitProblems(isCall: boolean, limits: readonly RouteLimit[]): readonly string[] {
  const waiting = limits.filter(({ waits, isHeld }) => waits && !isHeld);
  if (!isCall) return waiting.filter(({ delays }) => !delays).map((limit) => rejection(limit, FOR_REQUESTS));
  const held = limits.find(({ isHeld }) => isHeld);
  if (!held) return [];
  const allowed = `none beside rule "${held.name}", whose permits are held: limit another method, which calls this one`;
  return waiting.map((limit) => rejection(limit, allowed));
}

/**
 * Returns the problem of `@Settle()` on a method that it cannot settle; `undefined` if there is none.
 *
 * @param place the metadata of the decorator
 * @param isSkipped whether a decorator disables rules of the method, or of its class
 */
export function byHandProblem(
  { owner, kind }: HandlerMethod,
  place: unknown,
  rules: readonly RuleFields[],
  isSkipped: boolean,
): string | undefined {
  const isParameter = kind === 'http' && place === 'number';
  const isMeant = isParameter ? rules.some(({ settle }) => settle) : place === undefined;
  if (isMeant || (rules.length === 0 && (isSkipped || kind === 'none'))) return undefined;
  return `@Settle() on ${owner}: ${isParameter ? 'no rule of this handler has settle; write settle: () => null in one' : 'needs a parameter of an HTTP handler; elsewhere, use RateLimitService.reserve()'}`;
}

function rejection({ path, fields }: RouteLimit, allowed: string): string {
  return problem(`${path}.maxWait`, fields.maxWait, allowed);
}

/** The prefix of the metadata of `@Throttle` and `@SkipThrottle`. */
const METADATA = 'THROTTLER:';

/**
 * Returns the problem of a limited handler with `@Throttle` of @nestjs/throttler in an application where no guard reads it: its
 * limits were lost in a migration. `undefined` if there is none.
 *
 * @param types its class and those that it extends
 */
export function unreadThrottle(
  { handler, owner }: HandlerMethod,
  types: readonly Type[],
  modules: ModulesContainer,
  config: ApplicationConfig,
): string | undefined {
  const place = [handler, ...types].find((each) =>
    Reflect.getOwnMetadataKeys(each).some((key) => String(key).startsWith(METADATA)),
  );
  if (!place || hasThrottlerGuard(modules, config)) return undefined;
  const name = place === handler ? owner : (place as Type).name;
  return `@Throttle on ${name}: no guard of @nestjs/throttler reads it; write @RateLimit, or run npx nestjs-redis-rate-limit migrate`;
}

function hasThrottlerGuard(modules: ModulesContainer, config: ApplicationConfig): boolean {
  const types = [...modules.values()].flatMap(({ providers, injectables }) =>
    [...providers.values(), ...injectables.values()].map(({ metatype }) => metatype),
  );
  const instances = config.getGlobalGuards().map((guard) => guard.constructor);
  return [...types, ...instances].some(isThrottlerGuard);
}

function isThrottlerGuard(type: unknown): boolean {
  if (typeof type !== 'function') return false;
  return type.name === 'ThrottlerGuard' || isThrottlerGuard(Object.getPrototypeOf(type));
}
