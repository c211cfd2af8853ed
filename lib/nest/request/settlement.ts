import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { afterResponse, type ResponseEnd } from '../../http/response-end.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import type { AppliedLimit } from './applied-limit.js';
import { hungUp, type Exchange } from './exchange.js';
import { Warnings, InvalidValues } from '../warnings.js';

/** Releases and refunds the permits of a request that has ended. Never rejects. */
export type Finish = (end: ResponseEnd, exchange: Exchange) => Promise<void>;

/** Completes an allowed request: delays it, and settles its permits after the response. */
@Injectable()
export class Settlement {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(InvalidValues) private readonly invalid: InvalidValues,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /**
   * Returns `true` when the request may continue.
   *
   * @throws HttpException if the client disconnects while its request is delayed
   */
  settle(exchange: Exchange, decision: Decision, limits: readonly AppliedLimit[]): true | Promise<true> {
    const finish = this.open(decision, limits);
    if (finish) afterResponse(exchange.response, (end) => void finish(end, exchange));
    return decision.delayMs === 0 ? true : this.delay(exchange, decision);
  }

  /**
   * Returns the function to call when the request has ended: it releases permits, and refunds permits of rules that do
   * not count the request. `undefined` if the rules need neither.
   */
  open(decision: Decision, limits: readonly AppliedLimit[]): Finish | undefined {
    const decided = limits.filter(({ name }) => decision.decisions.some(({ rule }) => rule === name));
    const conditional = decided.filter(({ count }) => count !== 'all');
    const permit = decided.some(({ isHeld }) => isHeld) ? this.limiter.permit(decision) : undefined;
    if (!permit && conditional.length === 0) return undefined;
    return async (end, exchange) => {
      const both = [permit?.release(), this.refund(end, exchange, decision, conditional)];
      for (const each of await Promise.allSettled(both)) {
        if (each.status === 'fulfilled') continue;
        this.logger.error('The permits of a request could not be refunded.', each.reason);
      }
    };
  }

  /**
   * Waits for the delay of an allowed request.
   *
   * @throws HttpException if the client disconnects during the delay
   */
  async delay(exchange: Exchange, decision: Decision): Promise<true> {
    try {
      await this.limiter.delay(decision, exchange.gone());
      return true;
    } catch {
      throw hungUp();
    }
  }

  /** Warns of rules that need the end of the request, on a transport that does not report it. */
  reportUnsettled({ context }: Exchange, limits: readonly AppliedLimit[]): void {
    for (const { name, count, isHeld } of limits) {
      if ((!isHeld && count === 'all') || !this.warnings.isPending('RL_NEVER_SETTLED', name)) continue;
      const route = `${context.getClass().name}.${context.getHandler().name}`;
      const effect = isHeld
        ? 'its permits are held until their lease ends'
        : 'all requests count, whatever `count` is';
      const fix = isHeld
        ? 'Hold the permits in the handler with RateLimitService.hold()'
        : 'Call refund() in the handler';
      this.warnings.warn(
        'RL_NEVER_SETTLED',
        `Rule "${name}" on ${route}: the end of a ${context.getType()} request is not known here, so ${effect}. ` +
          `${fix}, or add @SkipRateLimit("${name}").`,
        name,
      );
    }
  }

  /** Refunds the rules for which the request does not count. */
  private async refund(
    end: ResponseEnd,
    exchange: Exchange,
    decision: Decision,
    limits: readonly AppliedLimit[],
  ): Promise<void> {
    const rules: string[] = [];
    for (const limit of limits) {
      if (!(await this.isCharged(limit, end, exchange))) rules.push(...limit.names);
    }
    if (rules.length > 0) await this.limiter.refund(decision, { rules });
  }

  private async isCharged(
    { name, count }: AppliedLimit,
    end: ResponseEnd,
    exchange: Exchange,
  ): Promise<boolean> {
    try {
      const isCharged: unknown = await counts(count, end, exchange);
      if (typeof isCharged === 'boolean') return isCharged;
      const reason = problem(`rule "${name}".count`, isCharged, 'a function that returns true or false');
      this.invalid.report(name, 'count', reason, 'The request stays charged');
      return true;
    } catch (error) {
      this.logger.error('The `count` function of a rule failed, so its charge stays.', error);
      return true;
    }
  }
}

/**
 * Whether a request with this response counts. A request whose connection was cut counts, so that clients cannot
 * evade the limit by disconnecting.
 */
function counts(
  count: AppliedLimit['count'],
  end: ResponseEnd,
  { context }: Exchange,
): boolean | Promise<boolean> {
  if (end === 'cut-off' || count === 'all') return true;
  if (typeof count === 'function') return count({ statusCode: end.statusCode, context });
  return end.statusCode >= 400 === (count === 'failures');
}
