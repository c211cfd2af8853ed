import type { Type } from '@nestjs/common';
import type { SubjectResolver } from '../nest/rules/route-rule.js';
import { CallContext } from './call-context.js';
import { OtherExchange } from './other.js';

/** Returns the exchange of a call. */
export function callExchange(type: Type, method: unknown, args: unknown[]): OtherExchange {
  return new OtherExchange(CallContext.of('provider', type, method, args));
}

/**
 * Returns a function for `by` that finds the subject in the arguments of a provider's method.
 *
 * @param find returns the subject of a call; `undefined`, `null` or `''` if it has none
 * @example
 * `@RateLimit('geocoder', { by: byArguments((address: string, tenant: string) => tenant) })`
 */
export function byArguments(find: (...args: never[]) => ReturnType<SubjectResolver>): SubjectResolver {
  return (context) => find(...context.getArgs<never[]>());
}
