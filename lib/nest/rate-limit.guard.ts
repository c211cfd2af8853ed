import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RateLimiter } from '../core/limiter.js';
import type { Exchange } from './exchange.js';
import { exchangeOf } from './exchange.js';
import { RateLimitAnswer } from './rate-limit.answer.js';
import { RequestValues } from './request-values.js';
import type { RouteHit } from './route-limit.js';
import { RouteRules } from './route-rules.js';
import { Settlement } from './settlement.js';

/** Contexts that a guard has counted: Nest hands all guards of one call the same one. */
const counted = new WeakSet<ExecutionContext>();

/** Decides each request by the rules of its route, and refuses it with a 429 when one denies. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(RateLimitAnswer) private readonly answer: RateLimitAnswer,
    @Inject(Settlement) private readonly settlement: Settlement,
  ) {}

  /** @throws RateLimitExceededException, or RateLimitUnavailableException when the store fails closed */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (counted.has(context)) return true;
    counted.add(context);
    const exchange = exchangeOf(context);
    const hits = await this.hitsOf(context, exchange);
    if (hits.length === 0) return true;
    const decision = await this.limiter.decide(hits);
    this.answer.tell(exchange, decision, context);
    await this.settlement.settle(exchange.response, decision, hits, context);
    return true;
  }

  private async hitsOf(context: ExecutionContext, { request }: Exchange): Promise<readonly RouteHit[]> {
    const values = new RequestValues(context);
    const hits: RouteHit[] = [];
    for (const limit of this.rules.of(context)) {
      const applied = limit.apply(request, values);
      const hit = applied instanceof Promise ? await applied : applied;
      if (hit === 'deny') throw this.answer.withoutSubject(limit.name);
      if (hit !== 'skip') hits.push(...hit);
    }
    return hits;
  }
}
