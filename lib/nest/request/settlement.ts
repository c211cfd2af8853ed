import { HttpException, Inject, Injectable, Logger, type ExecutionContext } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { problem } from '../../rules/rate-limit-config.error.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import { afterResponse, responseSignal, type ResponseEnd } from './after-response.js';
import { InvalidValues } from './invalid-values.js';
import type { RouteHit } from './route-limit.js';
import type { CountWhen } from '../rules/route-rule.js';

/** What Node answers itself when a client is gone (nginx's 499). */
const CLIENT_CLOSED_REQUEST = 499;

/** Does what a decision leaves to do: holds the request back, and settles when the response is over. */
@Injectable()
export class Settlement {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(InvalidValues) private readonly invalid: InvalidValues,
  ) {}

  /**
   * True when the request may go on.
   *
   * @throws HttpException if the client hangs up while its request is held back
   */
  settle(
    response: unknown,
    decision: Decision,
    hits: readonly RouteHit[],
    context: ExecutionContext,
  ): true | Promise<true> {
    if (response) this.settleAfter(response, decision, hits, context);
    return decision.delayMs === 0 ? true : this.holdBack(response, decision);
  }

  private async holdBack(response: unknown, decision: Decision): Promise<true> {
    const signal = response ? responseSignal(response) : undefined;
    try {
      await this.limiter.holdBack(decision, signal);
      return true;
    } catch {
      throw new HttpException('Client Closed Request', CLIENT_CLOSED_REQUEST);
    }
  }

  /** Without a response to wait for, charges stay, and leases end by themselves. */
  private settleAfter(
    response: unknown,
    decision: Decision,
    hits: readonly RouteHit[],
    context: ExecutionContext,
  ): void {
    let [isHeld, isConditional] = [false, false];
    for (const { rule, count = 'all' } of hits) {
      if (rule.algorithm.leases) isHeld = true;
      if (count !== 'all') isConditional = true;
    }
    if (!isHeld && !isConditional) return;
    const permit = isHeld ? this.limiter.permit(decision) : undefined;
    afterResponse(response, (end) => {
      void permit?.release();
      if (isConditional) void this.giveBack(end, decision, hits, context);
    });
  }

  private async giveBack(
    end: ResponseEnd,
    decision: Decision,
    hits: readonly RouteHit[],
    context: ExecutionContext,
  ): Promise<void> {
    const rules: string[] = [];
    for (const { rule, count = 'all' } of hits) {
      if (!(await this.isCharged(rule.name, count, end, context))) rules.push(rule.name);
    }
    if (rules.length > 0) await this.limiter.refund(decision, { rules });
  }

  private async isCharged(
    rule: string,
    count: CountWhen,
    end: ResponseEnd,
    context: ExecutionContext,
  ): Promise<boolean> {
    try {
      const isCharged: unknown = await counts(count, end, context);
      if (typeof isCharged === 'boolean') return isCharged;
      const reason = problem(`rule "${rule}".count`, isCharged, 'a function that returns true or false');
      this.invalid.report(rule, 'count', reason, 'The request stays charged');
      return true;
    } catch (error) {
      this.logger.error('The `count` function of a rule failed, so its charge stays.', error);
      return true;
    }
  }
}

/** A response that was cut off counts, or hanging up would be a way around the limit. */
function counts(count: CountWhen, end: ResponseEnd, context: ExecutionContext): boolean | Promise<boolean> {
  if (end === 'cut-off' || count === 'all') return true;
  if (typeof count === 'function') return count({ statusCode: end.statusCode, context });
  return end.statusCode >= 400 === (count === 'failures');
}
