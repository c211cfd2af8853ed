import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';

/** Runs the handler of a request, and does what is left to do when all its guards have allowed it. */
export type HandlerStage = (context: ExecutionContext, next: CallHandler) => Observable<unknown>;

/** By the arguments of the handler: Nest passes one list to its guards and its interceptors. */
const waiting = new WeakMap<object, HandlerStage>();

/** Leaves the rest of a request to the interceptor of its handler. It never runs if a later guard denies the request. */
export function leave(context: ExecutionContext, stage: HandlerStage): void {
  waiting.set(context.getArgs(), stage);
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
    return stage ? stage(context, next) : next.handle();
  },
};

/** The metadata with the interceptors of a class or a handler, and with its filters. */
export const INTERCEPTORS = '__interceptors__';
export const FILTERS = '__exceptionFilters__';

/** Whether a handler or a class has the interceptor. */
export function isIntercepted(target: object): boolean {
  return enhancersOf(target, INTERCEPTORS).includes(HANDLER_INTERCEPTOR);
}

export const OBSERVED = Symbol.for('nestjs-redis-rate-limit:observed');

/** Whether rules of a handler can see what it returns. */
export function isObserved(handler: object): boolean {
  return Reflect.hasOwnMetadata(OBSERVED, handler);
}

/** Adds the interceptor to a handler or a class, before Nest reads which interceptors it has. */
export function intercept(target: object): void {
  if (isIntercepted(target)) return;
  Reflect.defineMetadata(INTERCEPTORS, [HANDLER_INTERCEPTOR, ...enhancersOf(target, INTERCEPTORS)], target);
}

/** Returns the enhancers of one kind that a class or a handler has. */
export function enhancersOf(target: object, kind: string): readonly unknown[] {
  return (Reflect.getMetadata(kind, target) as unknown[] | undefined) ?? [];
}
