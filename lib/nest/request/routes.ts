import { Injectable, type Type } from '@nestjs/common';
import { problem, RateLimitConfigError } from '../../rules/rate-limit-config.error.js';
import { RouteLimit, type AppliedLimit } from './route-limit.js';

export type Handler = (...args: never[]) => unknown;

/** A reference to the counters of a route. */
export interface RouteReference {
  /** The controller class and the name of its method. */
  readonly route: readonly [type: Type, method: string];
  /**
   * Name of a rule of the route.
   * @default all rules of the route
   */
  readonly rule?: string;
}

/** The limits of every handler that is known. */
@Injectable()
export class Routes {
  private readonly limits = new Map<Type, Map<Handler, readonly AppliedLimit[]>>();

  of(type: Type, handler: Handler): readonly AppliedLimit[] | undefined {
    return this.limits.get(type)?.get(handler);
  }

  set(type: Type, handler: Handler, limits: readonly AppliedLimit[]): void {
    const handlers = this.limits.get(type) ?? new Map<Handler, readonly AppliedLimit[]>();
    this.limits.set(type, handlers.set(handler, limits));
  }

  *all(): Iterable<readonly AppliedLimit[]> {
    for (const handlers of this.limits.values()) yield* handlers.values();
  }

  /**
   * The limits that a program names.
   *
   * @throws RateLimitConfigError if the handler is not known, or has no such rule
   */
  find(reference: RouteReference): readonly RouteLimit[] {
    const [type, method] = partsOf(reference);
    const { prototype } = type as { prototype: Record<string, Handler> };
    const limits = this.of(type, prototype[method]!);
    const path = `route ${type.name}.${method}`;
    if (!limits) throw new RateLimitConfigError([`${path}: no handler of this application`]);
    const { rule } = reference;
    const named = limits
      .filter((limit) => limit instanceof RouteLimit)
      .filter(({ name }) => rule === undefined || name === rule);
    if (named.length > 0) return named;
    const names = limits.map(({ name }) => `"${name}"`).join(', ');
    throw new RateLimitConfigError([
      rule === undefined || names === '' ? `${path}: has no rules` : problem(`${path}.rule`, rule, names),
    ]);
  }
}

/** @throws RateLimitConfigError if it is no class and a name, whatever its type says */
function partsOf({ route }: RouteReference): RouteReference['route'] {
  const [type, method] = (Array.isArray(route) ? route : []) as unknown[];
  if (typeof type === 'function' && typeof method === 'string') return [type as Type, method];
  throw new RateLimitConfigError([problem('route', route, 'a class and the name of its method')]);
}
