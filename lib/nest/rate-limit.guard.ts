import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { HttpRequest } from '../http/subject.js';
import type { Exchange } from './request/exchange.js';
import { exchangeOf } from './request/exchange.js';
import { RateLimitAnswer } from './request/rate-limit.answer.js';
import { RequestValues } from './request/request-values.js';
import type { Applied, AppliedLimit, RouteHit } from './request/route-limit.js';
import { RouteRules } from './rules/route-rules.js';
import { Settlement } from './request/settlement.js';
import { unevaluated, withoutSubject } from './request/uncounted.js';

/** On a context that a guard has counted: Nest hands all guards of one call the same one. */
const COUNTED = Symbol('rate limit counted');

type Countable = ExecutionContext & { [COUNTED]?: true };

/**
 * Applies the rules of a handler to its requests. The module registers it for every route unless
 * `registerGuard` is `false`. A request that passes two of them is counted once.
 *
 * @example
 * `@UseGuards(AuthGuard, RateLimitGuard)`
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(RateLimitAnswer) private readonly answer: RateLimitAnswer,
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
    const hits = this.hitsOf(context, exchange);
    return hits instanceof Promise
      ? hits.then((found) => this.decide(found, exchange, context))
      : this.decide(hits, exchange, context);
  }

  private decide(
    hits: readonly RouteHit[],
    exchange: Exchange,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (hits.length === 0) return true;
    const decision = this.limiter.decide(hits);
    return decision instanceof Promise
      ? decision.then((decided) => this.tell(decided, hits, exchange, context))
      : this.tell(decision, hits, exchange, context);
  }

  private tell(
    decision: Decision,
    hits: readonly RouteHit[],
    exchange: Exchange,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    this.answer.tell(exchange, decision, context);
    if (!decision.allowed) return this.answer.refuse(decision);
    return this.settlement.settle(exchange.response, decision, hits, context);
  }

  private hitsOf(
    context: ExecutionContext,
    exchange: Exchange,
  ): readonly RouteHit[] | Promise<readonly RouteHit[]> {
    const values = new RequestValues(context);
    const limits = this.rules.of(context);
    const { request } = exchange;
    for (const limit of limits) limit.watch?.(exchange, values);
    if (limits.length === 1) {
      const applied = limits[0]!.apply(request, values);
      return applied instanceof Promise
        ? applied.then((found) => this.found(limits[0]!, found, values))
        : this.found(limits[0]!, applied, values);
    }
    const hits: RouteHit[] = [];
    for (let index = 0; index < limits.length; index += 1) {
      const limit = limits[index]!;
      const applied = limit.apply(request, values);
      if (applied instanceof Promise) return this.restOf(limits, index, applied, hits, request, values);
      const found = this.found(limit, applied, values);
      if (found instanceof Promise) return found;
      hits.push(...found);
    }
    return hits;
  }

  /** Goes on behind the first rule that has to be waited for. */
  private async restOf(
    limits: readonly AppliedLimit[],
    first: number,
    waitedFor: Promise<Applied>,
    hits: RouteHit[],
    request: HttpRequest,
    values: RequestValues,
  ): Promise<readonly RouteHit[]> {
    hits.push(...(await this.found(limits[first]!, await waitedFor, values)));
    for (const limit of limits.slice(first + 1)) {
      hits.push(...(await this.found(limit, await limit.apply(request, values), values)));
    }
    return hits;
  }

  private found(
    limit: AppliedLimit,
    applied: Applied,
    { context }: RequestValues,
  ): readonly RouteHit[] | Promise<never> {
    if (applied === 'skip') return [];
    if (applied === 'no-address' || applied === 'hung-up') {
      return this.answer.refuseWithoutAddress(limit.name, applied);
    }
    if (typeof applied !== 'string') return applied;
    const decision = applied === 'deny' ? withoutSubject(limit.name) : unevaluated(limit.name);
    this.limiter.events.decided({ decision, subjects: [''], durationMs: 0 });
    return this.answer.refuseUncounted(decision, context);
  }
}
