import { Inject, Injectable, type Type } from '@nestjs/common';
import {
  problem,
  quoted,
  rejectConfig,
  rejectValue,
  unknownName,
} from '../../contracts/rate-limit-config.error.js';
import { entryOf } from '../../contracts/entry-of.js';
import { RuleTable, type TableRule } from '../rules/rule-table.js';
import type { RouteLimit } from './route-limit.js';

export type Handler = (...args: never[]) => unknown;

/**
 * The kind of a handler: an HTTP route, a GraphQL query, mutation or subscription, a field resolver, a message of a
 * WebSocket gateway, its connections, a pattern of a microservice, a handler of an unknown library, or no handler (`'none'`).
 */
export type HandlerKind =
  'http' | 'graphql' | 'field' | 'gateway' | 'connection' | 'pattern' | 'unknown' | 'none';

/** A method of a class that may have handlers. */
export interface HandlerMethod {
  readonly type: Type;
  readonly name: string;
  readonly handler: Handler;
  readonly kind: HandlerKind;
  /** Its name in messages, such as `OrdersController.list`. */
  readonly owner: string;
  /** Whether it has rules of its own. */
  readonly isLimited: boolean;
}

/** A reference to the counters of a route. */
export interface RouteReference<Name extends string = string> {
  /** The controller class and the name of its method. */
  readonly route: readonly [type: Type, method: string];
  /**
   * Name of a rule of the route.
   *
   * @default all rules of the route
   */
  readonly rule?: Name;
}

/** The limits of one handler. */
export class Route {
  /** Whether any limit has to be settled after the response. */
  readonly settles: boolean;
  /** Whether it is a method of a provider, which limits itself unless the guard has applied its limits. */
  isMethod = false;
  private ofNamed: Route | undefined;
  private split: { readonly guard: Route; readonly handler: Route } | undefined;

  /**
   * @param isIntercepted whether an interceptor observes the handler, outside HTTP
   * @param isWrong whether the rules were found after start and are wrong: each request gets a 500
   */
  constructor(
    readonly limits: readonly RouteLimit[],
    readonly isIntercepted = false,
    readonly isWrong = false,
  ) {
    this.settles = limits.some(({ endsLate }) => endsLate);
  }

  /** The limits that a decorator names. */
  get named(): Route {
    return (this.ofNamed ??= this.part(({ isNamed }) => isNamed));
  }

  /**
   * The limits that the guard applies outside HTTP, and those that are applied after all guards: no guard learns that a
   * later one denies the request, so that permits would stay held and charges that only successes make would stay.
   */
  get stages(): NonNullable<typeof this.split> {
    const isLate = ({ isHeld, count, fields }: RouteLimit): boolean =>
      this.isIntercepted && (isHeld || count === 'successes' || fields.onError === 'refund');
    return (this.split ??= { guard: this.part((limit) => !isLate(limit)), handler: this.part(isLate) });
  }

  private part(isIn: (limit: RouteLimit) => boolean): Route {
    return this.limits.every(isIn) ? this : new Route(this.limits.filter(isIn), this.isIntercepted);
  }
}

/** Holds the limits of every known handler. */
@Injectable()
export class Routes {
  /** The limits of each handler by its class. */
  readonly byType = new Map<Type, Map<Handler, Route>>();

  constructor(@Inject(RuleTable) private readonly table: RuleTable) {}

  of(type: Type, handler: Handler): Route | undefined {
    return this.byType.get(type)?.get(handler);
  }

  set(type: Type, handler: Handler, route: Route): Route {
    const handlers = entryOf(this.byType, type, () => new Map<Handler, Route>());
    for (const { rule } of handlers.get(handler)?.limits ?? []) this.table.remove(rule);
    for (const { rule } of route.limits) this.table.add(rule);
    handlers.set(handler, route);
    return route;
  }

  /** The limits of each handler. */
  all(): readonly (readonly RouteLimit[])[] {
    return [...this.byType.values()].flatMap((handlers) =>
      Array.from(handlers.values(), ({ limits }) => limits),
    );
  }

  /**
   * Returns the rules that a program selects.
   *
   * @throws RateLimitConfigError if the handler is unknown, or has no such rule
   */
  find(reference: RouteReference): readonly TableRule[] {
    const [type, method] = partsOf(reference);
    const { prototype } = type as { prototype: Record<string, Handler> };
    const route = this.of(type, prototype[method]!);
    const path = `route ${type.name}.${method}`;
    if (!route) {
      const names = Array.from(this.byType.get(type)?.keys() ?? [], ({ name }) => name);
      const known = names.filter((name) => this.of(type, prototype[name]!)); // A library may replace a method.
      const text = `${path}: no handler of this application`;
      rejectConfig(known.length === 0 ? text : unknownName(text, method, known));
    }
    const { rule } = reference;
    const rules = route.limits.map((limit) => limit.rule);
    const named = rules.filter(({ name }) => rule === undefined || name === rule);
    if (named.length > 0) return named;
    const names = quoted(route.limits.map(({ name }) => name));
    rejectConfig(
      rule === undefined || names === '' ? `${path}: has no rules` : problem(`${path}.rule`, rule, names),
    );
  }
}

/** @throws RateLimitConfigError if the value is not a class and a method name, whatever its type states */
function partsOf({ route }: RouteReference): RouteReference['route'] {
  const [type, method] = (Array.isArray(route) ? route : []) as unknown[];
  if (typeof type === 'function' && typeof method === 'string') return [type as Type, method];
  rejectValue('route', route, 'a class and the name of its method');
}
