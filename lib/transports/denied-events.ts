import { Inject, Injectable } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { Exchange } from '../nest/request/exchange.js';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from '../nest/tokens.js';
import { Warnings } from '../nest/warnings.js';
import { drop, type RpcExchange } from './rpc.js';

/** Throws the exception of a denied request. */
export type Deny = (exchange: Exchange, decision: Decision, detail?: string) => Promise<never>;

/** Denies events of microservices, whose senders wait for no reply: drops them, or throws. */
@Injectable()
export class DeniedEvents {
  private readonly isDropped: boolean;

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) options: RateLimitModuleOptions,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {
    this.isDropped = options?.onDeniedEvent !== 'throw';
  }

  /** Returns how a message is denied: as any request if its sender waits for a reply. */
  deny(message: RpcExchange, deny: Deny): Deny {
    if (!message.isEvent) return deny;
    return async (exchange, decision, detail) => {
      this.report(message, decision);
      try {
        return await deny(exchange, decision, detail);
      } catch (error) {
        throw this.isDropped && error instanceof Error ? drop(error) : error;
      }
    };
  }

  private report({ context }: RpcExchange, { rule }: Decision): void {
    const handler = `${context.getClass().name}.${context.getHandler().name}`;
    const outcome = this.isDropped ? 'dropped' : "an error for its transport (`onDeniedEvent: 'throw'`)";
    this.warnings.warn(
      'RL_EVENT_DENIED',
      `Rule "${rule}" denied an event for ${handler}, and it was ${outcome}. Later ones are not logged: ` +
        'RateLimitEvents emits each as `denied`.',
      handler,
    );
  }
}
