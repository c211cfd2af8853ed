import type { ExecutionContext, Type } from '@nestjs/common';
import type { SubjectResolver } from '../rules/route-rule.js';
import { OtherExchange } from './other.js';

/** A call of a provider's method, as the context that functions in rules get. */
class CallContext {
  constructor(
    private readonly type: Type,
    private readonly method: () => unknown,
    private readonly args: unknown[],
  ) {}

  getType = (): string => 'provider';
  getClass = (): Type => this.type;
  getHandler = (): (() => unknown) => this.method;
  getArgs = (): unknown[] => this.args;
  getArgByIndex = (index: number): unknown => this.args[index];
  switchToHttp = (): object => ({ getRequest: this.none, getResponse: this.none, getNext: this.none });
  switchToRpc = (): object => ({ getData: () => this.args[0], getContext: this.none });
  switchToWs = (): object => ({ getClient: this.none, getData: () => this.args[0], getPattern: this.none });
  private readonly none = (): undefined => undefined;
}

/** Returns the exchange of a call. */
export function callExchange(type: Type, method: unknown, args: unknown[]): OtherExchange {
  const context = new CallContext(type, method as () => unknown, args);
  return new OtherExchange(context as unknown as ExecutionContext);
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
