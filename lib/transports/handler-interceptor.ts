import {
  Catch,
  type ArgumentsHost,
  type ExceptionFilter,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { runApplied } from '../nest/limited-method.js';
import { RateLimitUnavailableException, RateLimitExceededException } from '../nest/rate-limit.exception.js';
import type { Denial } from '../nest/request/responder.js';
import type { Route } from '../nest/request/routes.js';
import { rpcReply } from './rpc.js';
import { refuseSocket } from './ws.js';

/** Reports a denial in the language of a transport other than HTTP. GraphQL reports the exception itself. */
export function answerDenial(exception: Denial, host: ArgumentsHost): Observable<never> | void {
  switch (host.getType<string>()) {
    case 'ws':
      refuseSocket(exception, host);
      return;
    case 'rpc':
      return rpcReply(exception, host);
    default:
      throw exception;
  }
}

/**
 * The filter of gateways and microservices, where Nest runs no global filter. It has no state of an application, so that
 * a class can be part of several.
 */
@Catch(RateLimitExceededException, RateLimitUnavailableException)
class HandlerFilter implements ExceptionFilter {
  readonly catch = answerDenial;
}

const HANDLER_FILTER = new HandlerFilter();

const FILTERS = '__exceptionFilters__';

/**
 * Adds the filter to a class or handler, after the filters of the application, before Nest reads which it has. Nest calls
 * filters of a handler before those of its class, so a handler also gets those of its class.
 */
export function addFilter(target: object, type: object): void {
  const present = filtersOf(target);
  if (present.includes(HANDLER_FILTER)) return;
  const ofClass = target === type ? [] : filtersOf(type);
  Reflect.defineMetadata(FILTERS, [HANDLER_FILTER, ...ofClass, ...present], target);
}

function filtersOf(target: object): readonly unknown[] {
  return (Reflect.getMetadata(FILTERS, target) as unknown[] | undefined) ?? [];
}

/** What is left to do for a request when all its guards have allowed it. */
export interface HandlerStage {
  /** Runs the handler. */
  run(context: ExecutionContext, next: CallHandler): Observable<unknown>;
}

/** By the arguments of the handler: Nest passes one list to its guards and its interceptors. */
const waiting = new WeakMap<object, HandlerStage>();

/** Leaves the rest of a request to the interceptor of its handler. It never runs if a later guard denies the request. */
export function leave(context: ExecutionContext, stage: HandlerStage): void {
  waiting.set(context.getArgs(), stage);
}

const guarded = new WeakMap<object, Route>();

/** Records that the guard has applied the limits of a provider's method, so that the method itself does not. */
export function passGuard(context: ExecutionContext, route: Route): void {
  route.guardedBy ??= 'guard';
  guarded.set(context.getArgs(), route);
}

/** Returns the handler of a call. If the guard has applied its limits, its method does not apply them again. */
function handlerOf(context: ExecutionContext, next: CallHandler): CallHandler {
  const route = guarded.get(context.getArgs());
  if (!route) return next;
  route.guardedBy = 'interceptor';
  return { handle: () => runApplied(context.getHandler(), true, () => next.handle()) };
}

/**
 * Observes the handlers of all transports but HTTP: takes permits after all guards, and settles the request when its
 * handler ends. It has no state of an application, so that a handler's class can be part of several.
 */
export const HANDLER_INTERCEPTOR: NestInterceptor = {
  intercept(context, next) {
    const args: object = context.getArgs();
    const stage = waiting.get(args);
    waiting.delete(args);
    const handler = handlerOf(context, next);
    return stage ? stage.run(context, handler) : handler.handle();
  },
};

const INTERCEPTORS = '__interceptors__';

/** Whether a handler or a class has the interceptor. */
export function isIntercepted(target: object): boolean {
  return interceptorsOf(target).includes(HANDLER_INTERCEPTOR);
}

/** Whether a class has interceptors. */
export function hasInterceptors(type: object): boolean {
  return interceptorsOf(type).length > 0;
}

/** Adds the interceptor to a handler or a class, before Nest reads which interceptors it has. */
export function intercept(target: object): void {
  if (isIntercepted(target)) return;
  Reflect.defineMetadata(INTERCEPTORS, [HANDLER_INTERCEPTOR, ...interceptorsOf(target)], target);
}

function interceptorsOf(target: object): readonly unknown[] {
  return (Reflect.getMetadata(INTERCEPTORS, target) as unknown[] | undefined) ?? [];
}
