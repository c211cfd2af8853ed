import type { Admission } from '../nest/request/admission.js';
import type { Exchange } from '../nest/request/exchange.js';
import type { Deny } from '../nest/request/responder.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import type { Route } from '../nest/request/routes.js';
import type { Warnings } from '../nest/warnings.js';
import { answerable, followStreamCall } from './grpc-stream-call.js';
import { leave, type HandlerStage } from '../nest/handler-interceptor.js';
import { failure, SUCCESS, isIterable, observed, reportingEnd } from './observed-iterable.js';
import { denyEvent, isEventHandler, CallContext, CallExchange } from './calls.js';
import type { ExecutionContext, Type } from '@nestjs/common';
import { defer, map, mergeMap, tap } from 'rxjs';

/**
 * Applies the limits of requests outside HTTP, in two stages. The guard decides the rules that do not depend on the
 * end of the request. The interceptor decides the others, after all guards have allowed the request.
 */
export class HandlerStages {
  constructor(
    private readonly admission: Admission,
    /** Whether denied events of microservices are dropped, and not thrown. */
    private readonly dropsEvents: boolean,
    private readonly warnings: Warnings,
  ) {}

  /** Returns `true` if the rules of the first stage allow a request. */
  async enter(route: Route, exchange: Exchange, deny: Deny): Promise<true> {
    if (route.limits.length === 0 && !route.isWrong) return true;
    return answerable(exchange.context, () => this.enterGuard(route, exchange, deny));
  }

  private async enterGuard(route: Route, exchange: Exchange, deny: Deny): Promise<true> {
    const { guard, handler } = route.stages;
    const isEvent = exchange.transport === 'rpc' && isEventHandler(exchange.context.getHandler());
    const denied = isEvent ? denyEvent(deny, this.dropsEvents, this.warnings) : deny;
    exchange.isFollowed = route.isIntercepted;
    await this.admission.enter(guard, exchange, denied);
    if (!route.isIntercepted && exchange.decision) warnOfUnsettled(exchange, route.limits, this.warnings);
    const isDone = handler.limits.length === 0 && !exchange.settles;
    if (isDone || !route.isIntercepted) return true;
    const begin = () => answerable(exchange.context, () => this.enterHandler(handler, exchange, denied));
    leave(exchange.context, observedHandler(exchange, begin));
    return true;
  }

  /** Decides the rules of the second stage. If they deny, the request is charged for none. */
  private async enterHandler(route: Route, exchange: Exchange, deny: Deny): Promise<void> {
    const first = exchange.decision;
    try {
      await this.admission.enter(route, exchange, deny);
    } catch (error) {
      await this.admission.leave(first);
      throw error;
    }
  }

  /**
   * Calls a method of a provider if its rules allow the call, and settles the call at its end.
   *
   * @throws RateLimitExceededException if a rule denies
   */
  async call(
    route: Route,
    [type, handler, args]: readonly [type: Type, handler: unknown, args: unknown[]],
    deny: Deny,
    method: () => unknown,
  ): Promise<unknown> {
    const exchange = new CallExchange(new CallContext('provider', type, handler, args));
    if (route.limits.some(({ isSettled }) => isSettled)) await this.admission.openSettlements();
    await this.admission.enter(route, exchange, deny);
    try {
      const result = await method();
      const settlement = this.admission.settlements?.of(exchange);
      if (settlement) return settlement.returned(result, (end) => exchange.end(end));
      exchange.end(SUCCESS);
      return result;
    } catch (error) {
      exchange.end(failure(error));
      throw error;
    }
  }
}

/** What becomes of a rule that needs the end of a request which is not known, and the fix. */
const UNSETTLED = {
  held: [
    'its permits are held until their lease ends',
    'Hold the permits in the handler with RateLimitService.hold()',
  ],
  settled: [
    'each request keeps the charge of its cost, whatever `settle` is',
    'Take the permits in the handler with RateLimitService.reserve()',
  ],
  counted: ['all requests count, whatever `count` is', 'Call refund() in the handler'],
} as const;

/** Warns of rules that need the end of the request, where it is not known. */
function warnOfUnsettled({ context }: Exchange, limits: readonly RouteLimit[], warnings: Warnings): void {
  for (const { name, isHeld, isSettled, endsLate } of limits) {
    if (!endsLate || !warnings.isPending('RL_NEVER_SETTLED', name)) continue;
    const route = `${context.getClass().name}.${context.getHandler().name}`;
    const [effect, fix] = isHeld ? UNSETTLED.held : isSettled ? UNSETTLED.settled : UNSETTLED.counted;
    warnings.warn(
      'RL_NEVER_SETTLED',
      `Rule "${name}" on ${route}: the end of a ${context.getType()} request is not known here, so ${effect}. ` +
        `${fix}, or add @SkipRateLimit("${name}").`,
      name,
    );
  }
}

/**
 * Returns what observes a handler until its Observable ends, and one of a subscription until its iterator ends.
 *
 * @param begin decides the rules of the second stage
 */
function observedHandler(exchange: Exchange, begin: () => Promise<void>): HandlerStage {
  return (context, next) => {
    let isFollowed = false;
    const closed = isSubscription(context) ? exchange.closed() : undefined;
    const values = defer(begin).pipe(
      mergeMap(() => {
        isFollowed = followStreamCall(context, (ended) => exchange.end(ended));
        return next.handle();
      }),
      map((value: unknown) => {
        if (!isSubscription(context) || !isIterable(value)) return value;
        isFollowed = true;
        const ended = (error?: unknown): void => exchange.end(error === undefined ? SUCCESS : failure(error));
        return observed(value, ended, closed);
      }),
      tap({ error: () => (isFollowed = false) }),
    );
    return reportingEnd(values, (end) => {
      if (!isFollowed) exchange.end(end);
    });
  };
}

/** Whether the handler is that of a GraphQL subscription. */
function isSubscription(context: ExecutionContext): boolean {
  if (context.getType<string>() !== 'graphql') return false;
  const info = context.getArgByIndex<{ readonly operation?: { readonly operation?: string } } | undefined>(3);
  return info?.operation?.operation === 'subscription';
}
