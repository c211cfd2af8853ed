import {
  Inject,
  Injectable,
  InternalServerErrorException,
  Logger,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';
import { UNCOUNTED_RETRY_MS, type Decision } from '../../contracts/decision.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import type { ResponseEnd } from '../../http/response-end.js';
import { DecidedHit } from '../../limiter/decision.js';
import { Engine } from '../../limiter/engine.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { Settlements } from '../../transports/settlements.js';
import { Warnings } from '../warnings.js';
import { hungUp, type Applied, type Exchange, type Uncounted } from './exchange.js';
import type { Check, RouteLimit } from './route-limit.js';
import { type Deny, Responder, withoutStack } from './responder.js';
import type { Route } from './routes.js';

const DENIED = { allowed: false, limit: 0, windowMs: 0, remaining: 0, resetAfterMs: 0, delayMs: 0 };

/**
 * Applies the limits of a route to a request, of every transport: decides, reports the decision, denies, delays, and
 * settles the charges at the end of the request.
 */
@Injectable()
export class Admission implements OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  /** Absent until a rule settles by what handlers return. */
  settlements: Settlements | undefined;

  constructor(
    @Inject(Engine) private readonly engine: Engine,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /**
   * Returns `true` when the request may continue: synchronously if functions of the rules and the store are synchronous.
   *
   * @throws what `deny` throws, if a rule denies
   * @throws InternalServerErrorException if the rules are wrong, the request has no IP address, or its client has disconnected
   * @throws HttpException if the client disconnects while its request is delayed
   */
  enter(route: Route, exchange: Exchange, deny: Deny): MaybePromise<true> {
    if (route.isWrong) throw withoutStack(() => new InternalServerErrorException());
    const applied = hitsOf(route, exchange);
    return applied instanceof Promise
      ? applied.then((found) => this.decide(found, route, exchange, deny))
      : this.decide(applied, route, exchange, deny);
  }

  /** Loads what settles requests by what their handlers return, and returns what observes a handler. */
  async openSettlements(): Promise<(method: { readonly type: Type; readonly name: string }) => void> {
    const { observe, Settlements } = await import('../../transports/settlements.js');
    this.settlements ??= new Settlements(this.engine, this.warnings);
    return observe;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.settlements?.close();
  }

  /** Refunds what a request was charged, because it is denied later. */
  async leave(decision: Decision | undefined): Promise<void> {
    if (decision) await this.engine.refund(decision);
  }

  private decide(applied: Applied, route: Route, exchange: Exchange, deny: Deny): MaybePromise<true> {
    if ('reason' in applied) return this.denyUncounted(applied, exchange, deny);
    if (applied.length === 0) return true;
    const decision = this.engine.decide(applied, undefined, exchange.context);
    return decision instanceof Promise
      ? decision.then((decided) => this.respond(decided, route, exchange, deny))
      : this.respond(decision, route, exchange, deny);
  }

  private respond(decision: Decision, route: Route, exchange: Exchange, deny: Deny): MaybePromise<true> {
    exchange.decision = decision;
    if (decision.allowed && route.settles) this.settleLater(decision, route.limits, exchange);
    this.responder.respond(exchange, decision);
    if (!decision.allowed) return deny(exchange.context, decision);
    return decision.delayMs === 0 ? true : this.delay(exchange, decision);
  }

  /** Denies a request that cannot be counted. */
  private async denyUncounted({ rule, reason }: Uncounted, exchange: Exchange, deny: Deny): Promise<never> {
    if (reason === 'no-address' || reason === 'hung-up') {
      await Promise.resolve();
      if (reason === 'no-address') {
        const { noAddressMessage } = await import('../rare-messages.js');
        this.warnings.warn('RL_NO_CLIENT_ADDRESS', noAddressMessage(rule, exchange));
      }
      throw withoutStack(() => new InternalServerErrorException());
    }
    const decision =
      reason === 'no-subject' ? uncounted(rule, null) : uncounted(rule, UNCOUNTED_RETRY_MS, 'deny');
    const { context } = exchange;
    this.engine.events.decided([], { decision, durationMs: 0, context });
    await Promise.resolve();
    this.responder.respond(exchange, decision, []);
    return deny(context, decision, `Rule "${rule}" counts by something that this request does not have.`);
  }

  private async delay(exchange: Exchange, decision: Decision): Promise<true> {
    try {
      await this.engine.delay(decision, exchange.gone());
      return true;
    } catch {
      exchange.end('cut-off');
      throw hungUp();
    }
  }

  /**
   * At the end of the request, refunds permits of rules that do not count it, and releases those it holds: when its handler
   * has ended as well, which a client that disconnects does not end.
   */
  private settleLater(decision: Decision, limits: readonly RouteLimit[], exchange: Exchange): void {
    if (!exchange.isFollowed) return;
    const decided = limits.filter(({ name }) => decides(decision, name));
    const conditional = decided.filter(({ count }) => count !== 'all');
    const holding = decided.filter(({ isHeld }) => isHeld);
    // No listener of the permit's signal, which would cost more than the decision.
    const onLost = (): void => holding.forEach((limit) => this.reportLost(limit));
    const permit = holding.length > 0 ? this.engine.permit(decision, onLost) : undefined;
    const settled = decided.filter(({ isSettled }) => isSettled);
    const held = ['http', 'ws', 'rpc'].includes(exchange.transport) ? permit : undefined;
    const settle = this.settlements?.open(exchange, decision, settled, limits, held);
    if (!permit && conditional.length === 0 && !settle) return;
    exchange.onEnd(async (end) => {
      const refunded = this.refund(end, exchange, decision, conditional);
      const released = settle && held ? undefined : permit?.release();
      for (const each of await Promise.allSettled([released, refunded, refunded.then(() => settle?.(end))])) {
        if (each.status === 'rejected')
          this.logger.error('The permits of a request could not be refunded.', each.reason);
      }
    });
  }

  private reportLost({ name, path, isEnforced }: RouteLimit): void {
    if (!isEnforced) return;
    import('../rare-messages.js')
      .then(({ permitsLost }) => this.warnings.warn('RL_PERMITS_LOST', permitsLost(path), name))
      .catch(() => undefined);
  }

  /** Refunds the rules for which the request does not count. */
  private async refund(
    end: ResponseEnd,
    exchange: Exchange,
    decision: Decision,
    limits: readonly RouteLimit[],
  ): Promise<void> {
    const rules: string[] = [];
    for (const limit of limits) {
      if (!(await this.isCharged(limit, end, exchange))) rules.push(limit.name, `${limit.name}?`);
    }
    const decided = rules.filter((name) => decides(decision, name));
    if (decided.length > 0) await this.engine.refund(decision, { rules: decided });
  }

  /**
   * Whether a request with this response counts. A request whose connection was cut counts, so that clients cannot
   * evade the limit by disconnecting.
   */
  private async isCharged(limit: RouteLimit, end: ResponseEnd, { context }: Exchange): Promise<boolean> {
    const { path, count } = limit;
    if (end === 'cut-off' || count === 'all') return true;
    if (typeof count !== 'function') return end.statusCode >= 400 === (count === 'failures');
    try {
      const isCharged: unknown = await count({ statusCode: end.statusCode, context });
      if (typeof isCharged === 'boolean') return isCharged;
      const reason = problem(`${path}.count`, isCharged, 'a function that returns true or false');
      limit.warnOfInvalid('count', reason, 'The request stays charged');
    } catch (error) {
      this.logger.error('The `count` function of a rule failed, so its charge stays.', error);
    }
    return true;
  }
}

function decides({ decisions }: Decision, name: string): boolean {
  return decisions.some(({ rule }) => rule === name);
}

/** The results of applying all limits of a route to a request; a promise only if a rule is asynchronous. */
function hitsOf({ limits }: Route, exchange: Exchange): Applied | Promise<Applied> {
  for (const limit of limits) {
    for (const check of limit.checks) {
      if (concerns(check, exchange) && check.see(exchange, limit)) limit.checks.delete(check);
    }
  }
  return limits.length === 1 ? limits[0]!.apply(exchange) : hitsFrom(limits, 0, [], exchange);
}

function hitsFrom(
  limits: readonly RouteLimit[],
  first: number,
  hits: readonly RuleHit[],
  exchange: Exchange,
): Applied | Promise<Applied> {
  const found = [...hits];
  for (let index = first; index < limits.length; index += 1) {
    const applied = limits[index]!.apply(exchange);
    if (applied instanceof Promise) {
      return applied.then((later) =>
        'reason' in later ? later : hitsFrom(limits, index + 1, [...found, ...later], exchange),
      );
    }
    if ('reason' in applied) return applied;
    found.push(...applied);
  }
  return found;
}

/** Whether a check has to see a request. */
function concerns({ awaited }: Check, { transport, request }: Exchange): boolean {
  if (!awaited || transport !== 'http' || awaited.patience <= 0) return true;
  for (const name of awaited.names) if (request.headers?.[name] !== undefined) return true;
  awaited.patience -= 1;
  return false;
}

/** Returns the denial of a request that has no subject, or a rule without a valid limit: its `fallback` is `'deny'`. */
function uncounted(rule: string, retryAfterMs: number | null, fallback?: 'deny'): Decision {
  const denied = { ...DENIED, rule, retryAfterMs, ...(fallback && { fallback }) };
  return new DecidedHit([denied], fallback ? 'fallback' : 'memory');
}
