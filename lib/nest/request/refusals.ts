import { Inject, Injectable, InternalServerErrorException } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { UNCOUNTED_RETRY_MS } from '../../layers/fallback/fallback.js';
import { DecidedHit } from '../../limiter/decision.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import { Warnings } from '../warnings.js';
import type { Refusal } from './applied-limit.js';
import type { Exchange } from './exchange.js';
import { Responder, withoutStack } from './responder.js';

const DENIED = { allowed: false, limit: 0, windowMs: 0, remaining: 0, resetAfterMs: 0, delayMs: 0 };

/** Denies a request, see `Responder.deny`. */
type Deny = (exchange: Exchange, decision: Decision, detail: string) => Promise<never>;

/** Denies requests that cannot be counted. */
@Injectable()
export class Refusals {
  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /**
   * Denies a request, in a later microtask, see `Responder.deny`.
   *
   * @param deny throws the exception of a decision
   * @throws RateLimitExceededException if the request has no subject
   * @throws RateLimitUnavailableException if the rule has no valid limit
   * @throws InternalServerErrorException if the request has no IP address, or its client has disconnected
   */
  async refuse({ rule, reason }: Refusal, exchange: Exchange, deny: Deny): Promise<never> {
    if (reason === 'no-address' || reason === 'hung-up') {
      await Promise.resolve();
      if (reason === 'no-address')
        this.warnings.warn('RL_NO_CLIENT_ADDRESS', noAddressMessage(rule, exchange));
      throw withoutStack(() => new InternalServerErrorException());
    }
    const decision = reason === 'no-subject' ? withoutSubject(rule) : withoutLimit(rule);
    this.limiter.events.decided([], { decision, durationMs: 0, context: exchange.context });
    await Promise.resolve();
    this.responder.respond(exchange, decision, []);
    const detail = `Rule "${rule}" counts by something that this request does not have.`;
    return deny(exchange, decision, detail);
  }
}

/** Returns the denial of a request without a subject, with `onMissingSubject: 'deny'`. */
function withoutSubject(rule: string): Decision {
  return new DecidedHit([{ ...DENIED, rule, retryAfterMs: null }], 'memory');
}

/** Returns the denial of a request under a rule without a valid limit. */
function withoutLimit(rule: string): Decision {
  const denied = { ...DENIED, rule, retryAfterMs: UNCOUNTED_RETRY_MS, fallback: 'deny' } as const;
  return new DecidedHit([denied], 'fallback');
}

function noAddressMessage(rule: string, { transport, request }: Exchange): string {
  const fix =
    transport === 'graphql' && !request.headers
      ? 'The context of its GraphQL operation has no request: return it from `context`, as in ({ req }) => ({ req }), or ' +
        'pass it to executeOperation() as contextValue, and to app.graphql() of Mercurius as its second argument. '
      : 'On a unix socket the address comes from X-Forwarded-For, and only if the framework trusts the proxy: ' +
        "app.set('trust proxy', 1) on Express, trustProxy: (_address, hop) => hop === 0 on Fastify. ";
  return (
    `Rule "${rule}" counts by IP, and a request had no IP address, so it got a 500. ${fix}` +
    "Otherwise count by something else, or set onMissingSubject to 'skip' or 'deny'."
  );
}
