import { Inject, Injectable } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { Exchange } from '../nest/request/exchange.js';
import { Refusals } from '../nest/request/refusals.js';
import { Responder } from '../nest/request/responder.js';
import type { Route } from '../nest/request/routes.js';
import { Settlement, type Finish } from '../nest/request/settlement.js';
import { DeniedEvents, type Deny, RpcExchange } from './rpc.js';
import { answerable } from './grpc-stream-call.js';
import { leave } from './handler-interceptor.js';
import { failure, ObservedHandler, SUCCESS } from './observed-handler.js';

/**
 * Applies the limits of requests outside HTTP, in two stages. The guard decides the rules that do not depend on the
 * end of the request. The interceptor decides the others, after all guards have allowed the request.
 */
@Injectable()
export class Elsewhere {
  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Refusals) private readonly refusals: Refusals,
    @Inject(Settlement) private readonly settlement: Settlement,
    @Inject(DeniedEvents) private readonly events: DeniedEvents,
  ) {}

  /** Returns `true` if the rules of the first stage allow a request. */
  async apply(route: Route, exchange: Exchange, deny: Deny): Promise<true> {
    if (route.limits.length === 0) return true;
    return answerable(exchange.context, () => this.applyGuard(route, exchange, deny));
  }

  private async applyGuard(route: Route, exchange: Exchange, deny: Deny): Promise<true> {
    const { guard, handler } = route.stages;
    const denied = exchange instanceof RpcExchange ? this.events.deny(exchange, deny) : deny;
    const decision = await this.decide(guard, exchange, denied);
    if (!route.isIntercepted) {
      this.settlement.reportUnsettled(exchange, route.limits);
      return true;
    }
    const finish = decision && this.settlement.open(decision, guard.limits);
    if (!finish && handler.limits.length === 0 && !exchange.awaitsHandler) return true;
    const begin = async (): Promise<Finish | undefined> => {
      const decideLate = () => this.decideLate(handler, exchange, denied, decision);
      const late = await answerable(exchange.context, decideLate);
      return late && this.settlement.open(late, handler.limits);
    };
    leave(exchange.context, new ObservedHandler(exchange, finish, begin));
    return true;
  }

  /**
   * Calls a method if its rules allow the call, and settles the call at its end.
   *
   * @throws RateLimitExceededException if a rule denies
   */
  async call(route: Route, exchange: Exchange, deny: Deny, method: () => unknown): Promise<unknown> {
    const decision = await this.decide(route, exchange, deny);
    const finish = decision && this.settlement.open(decision, route.limits);
    try {
      const result = await method();
      void finish?.(SUCCESS, exchange);
      return result;
    } catch (error) {
      void finish?.(failure(error), exchange);
      throw error;
    }
  }

  /** Decides the rules of the second stage. If they deny, the request is charged for none. */
  private async decideLate(
    route: Route,
    exchange: Exchange,
    deny: Deny,
    first: Decision | undefined,
  ): Promise<Decision | undefined> {
    try {
      return await this.decide(route, exchange, deny);
    } catch (error) {
      if (first) await this.limiter.refund(first);
      throw error;
    }
  }

  private async decide(route: Route, exchange: Exchange, deny: Deny): Promise<Decision | undefined> {
    if (route.limits.length === 0) return undefined;
    const applied = await route.apply(exchange);
    if ('reason' in applied) return this.refusals.refuse(applied, exchange, deny);
    if (applied.length === 0) return undefined;
    const decision = await this.limiter.decide(applied, undefined, exchange.context);
    this.responder.respond(exchange, decision);
    if (!decision.allowed) return deny(exchange, decision);
    if (decision.delayMs > 0) await this.settlement.delay(exchange, decision);
    return decision;
  }
}
