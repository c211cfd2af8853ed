import type { NestInterceptor, Type } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { ResponseEnd } from '../http/response-end.js';
import { DecidedHit } from '../limiter/decision.js';
import type { Engine } from '../limiter/engine.js';
import type { Permit } from '../limiter/permit.js';
import { settlementOf } from '../limiter/settlement.js';
import { handlerOf } from '../nest/applied-call.js';
import { settlements } from '../nest/parameter.decorators.js';
import type { Exchange } from '../nest/request/exchange.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import type { Warnings } from '../nest/warnings.js';
import { enhancersOf, INTERCEPTORS, isObserved, OBSERVED } from '../nest/handler-interceptor.js';
import { noteResults, runHandler, type HandlerRun } from './handler-run.js';
import { keyOfRequest, Settlement } from './settlement.js';

/** Has no state of an application, so that a handler's class can be part of several. */
const RESULT_OBSERVER: NestInterceptor = {
  intercept(context, next) {
    const run: HandlerRun = {};
    return Settlement.of(context)?.run(runHandler(next, run), run) ?? next.handle();
  },
};

/** Adds the observer next to a handler, where it sees what the handler returns before other interceptors change it. */
export function observe({ type, name }: { readonly type: Type; readonly name: string }): void {
  const handler = noteResults(type, name);
  if (isObserved(handler)) return;
  Reflect.defineMetadata(OBSERVED, true, handler);
  Reflect.defineMetadata(INTERCEPTORS, [...enhancersOf(handler, INTERCEPTORS), RESULT_OBSERVER], handler);
}

/** Settles the requests of an application. */
export class Settlements {
  private readonly closing = new AbortController();
  private readonly pending = new Set<Promise<unknown>>();

  constructor(
    private readonly engine: Engine,
    private readonly warnings: Warnings,
  ) {}

  /** Returns the settlement of a request; `undefined` if it has none. */
  of({ context }: Exchange): Settlement | undefined {
    return Settlement.of(context);
  }

  /** Returns a function that settles a request which has ended; `undefined` if nothing observes its handler. */
  open(
    { context }: Exchange,
    decision: Decision,
    limits: readonly RouteLimit[],
    ofRoute: readonly RouteLimit[],
    permit: Permit | undefined,
  ): ((end: ResponseEnd) => Promise<void>) | undefined {
    const isSeen = context.getType<string>() === 'provider' || isObserved(handlerOf(context));
    if ((limits.length === 0 && !permit) || !isSeen) return undefined;
    const settlement = Settlement.of(context) ?? new Settlement(context, this.warnings, this.closing.signal);
    settlement.isHeld ||= permit !== undefined;
    for (const limit of limits) settlement.limits.add(limit);
    for (const { isSettled, name } of ofRoute) if (isSettled) settlement.names.add(name);
    settlements.set(keyOfRequest(context), settlement);
    const settle = async (end: ResponseEnd): Promise<void> => {
      const actual = await settlement.actual(end, decision);
      const hits = limits.length === 0 ? [] : DecidedHit.hitsOf(decision);
      await Promise.all([this.engine.store.adjust(settlementOf(decision, hits, actual)), permit?.release()]);
    };
    return async (end) => {
      const settled = settle(end);
      this.pending.add(settled);
      await settled.finally(() => this.pending.delete(settled));
    };
  }

  /** Waits for the settlements of requests that have ended. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.allSettled(this.pending);
  }
}
