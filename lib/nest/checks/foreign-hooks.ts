import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';

const SUBJECT = '`subjectOf(context, rule)`, or the field `by` of a rule';
const DENY = '`deny(context, decision)`, or the option `body`';

/** The members that subclasses of throttler's guard define, with what replaces them. */
const FOREIGN_HOOKS: Readonly<Record<string, string>> = {
  errorMessage: DENY,
  generateKey: `${SUBJECT}; \`scope: 'shared'\` counts several routes together`,
  getErrorMessage: DENY,
  getRequestResponse: SUBJECT,
  getTracker: SUBJECT,
  handleRequest: '`shouldSkip(context)`, `subjectOf(context, rule)` and `deny(context, decision)`',
  headerPrefix: "the option `headers`, such as headers: 'throttler'",
  throwThrottlingException: DENY,
};

/**
 * Throws if a guard defines members that only throttler's guard calls: they would never run.
 *
 * @param guard an instance, since a member may be a class field
 * @throws RateLimitConfigError with what to write instead of each
 */
export function checkForeignHooks(guard: object): void {
  const foreign = Object.entries(FOREIGN_HOOKS).filter(([name]) => name in guard);
  if (foreign.length === 0) return;
  const { name: type } = guard.constructor;
  throw new RateLimitConfigError(
    foreign.map(
      ([name, instead]) =>
        `${type}.${name}: got a hook of @nestjs/throttler, which is never called here; write ${instead}`,
    ),
  );
}

/**
 * Throws if Nest injects nothing into a guard: each request would fail.
 *
 * @param type the name of its class
 * @param dependency the first argument of its constructor
 * @throws RateLimitConfigError
 */
export function checkInjected(type: string, dependency: unknown): void {
  if (typeof (dependency as { readonly of?: unknown } | undefined)?.of === 'function') return;
  throw new RateLimitConfigError([
    `new ${type}(): created without its dependencies; RateLimitModule registers its guard for every route, so remove ` +
      '`useGlobalGuards`, or write @UseGuards(RateLimitGuard); a subclass has no constructor of its own, and injects into ' +
      'properties: @Inject(UsersService) private readonly users: UsersService',
  ]);
}
