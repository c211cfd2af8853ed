import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { Applied } from './request/applied-limit.js';
import { exchangeOf, type Exchange } from './request/exchange.js';
import { Refusals } from './request/refusals.js';
import { Responder } from './request/responder.js';
import { Routes, type Handler, type Route } from './request/routes.js';
import { Settlement } from './request/settlement.js';
import { RouteRules } from './startup/route-rules.js';

/** Marks a context whose request was counted: Nest passes the same context to all guards of a request. */
const COUNTED = Symbol.for('nestjs-redis-rate-limit:counted');

type Countable = ExecutionContext & { [COUNTED]?: true };

/**
 * Guard that applies the rules of a handler to its requests. The module registers it for every route unless
 * `registerGuard` is `false`. A request that passes it twice is counted once.
 *
 * @example
 * `@UseGuards(AuthGuard, RateLimitGuard)`
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    @Inject(Routes) private readonly routes: Routes,
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Refusals) private readonly refusals: Refusals,
    @Inject(Settlement) private readonly settlement: Settlement,
  ) {}

  /**
   * Returns `true` if every rule allows the request: synchronously with the memory store.
   *
   * @internal
   * @throws RateLimitExceededException if a rule denies
   * @throws RateLimitUnavailableException if Redis cannot decide and `onStoreError` is `'deny'`
   */
  canActivate(context: Countable): boolean | Promise<boolean> {
    if (context[COUNTED]) return true;
    context[COUNTED] = true;
    const exchange = exchangeOf(context);
    const [type, handler] = [context.getClass(), context.getHandler() as Handler];
    const route = this.routes.of(type, handler) ?? this.rules.compileLater(type, handler);
    const applied = route.apply(exchange);
    return applied instanceof Promise
      ? applied.then((found) => this.decide(found, route, exchange))
      : this.decide(applied, route, exchange);
  }

  private decide(applied: Applied, route: Route, exchange: Exchange): boolean | Promise<boolean> {
    if ('reason' in applied) return this.refusals.refuse(applied, exchange);
    if (applied.length === 0) return true;
    const decision = this.limiter.decide(applied);
    return decision instanceof Promise
      ? decision.then((decided) => this.respond(decided, route, exchange))
      : this.respond(decision, route, exchange);
  }

  private respond(decision: Decision, route: Route, exchange: Exchange): boolean | Promise<boolean> {
    this.responder.respond(exchange, decision);
    if (!decision.allowed) return this.responder.deny(decision);
    const isDone = decision.delayMs === 0 && !route.settles;
    return isDone || this.settlement.settle(exchange, decision, route.limits);
  }
}
