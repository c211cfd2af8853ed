import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { ofProcess } from '../contracts/entry-of.js';
import { enhancersOf, INTERCEPTORS } from './handler-interceptor.js';

/** What the names of bound functions begin with. */
const BOUND = 'bound ';

const { current, guarded } = ofProcess('applied-calls', () => ({
  /**
   * The call of a handler whose limits were applied, while it runs. It is ahead while the method is still to be called, once
   * or several times: a guard applied its limits.
   */
  current: new AsyncLocalStorage<{ readonly handler: unknown; isAhead: boolean }>(),
  /** The arguments of calls whose limits a guard has applied: Nest passes one list to its guards and its interceptors. */
  guarded: new WeakSet(),
}));

/** Runs a method whose limits were applied. Calls that it makes are other calls, except those of `super`. */
export function runApplied<Result>(handler: unknown, method: () => Result): Result {
  return current.run({ handler, isAhead: false }, method);
}

/** Whether the limits of a call were applied by a guard, or by the method that overrides this one. */
export function isApplied(handler: unknown, isOverridden: boolean): boolean {
  const call = current.getStore();
  return call !== undefined && call.handler === handler && (isOverridden || call.isAhead);
}

/** Returns the handler of a call as its class has it: a library may have bound it to the instance. */
export function handlerOf(context: ExecutionContext): ReturnType<ExecutionContext['getHandler']> {
  const handler = context.getHandler();
  if (!handler.name.startsWith(BOUND)) return handler;
  const { prototype } = context.getClass() as { prototype: Record<string, typeof handler | undefined> };
  return prototype[handler.name.slice(BOUND.length)] ?? handler;
}

/** Records that the guard has applied the limits of a call, so that its method does not apply them again. */
export function passGuard(context: ExecutionContext): void {
  guarded.add(context.getArgs());
}

/**
 * Passes on to a method that the guard has applied its limits. Interceptors below may call the method later, several times,
 * or not at all; when they have ended, what they have left running makes calls of its own.
 */
const GUARDED_CALLS: NestInterceptor = {
  intercept(context, next) {
    if (!guarded.has(context.getArgs())) return next.handle();
    return new Observable((subscriber) => {
      const call = { handler: handlerOf(context), isAhead: true };
      subscriber.add(() => void (call.isAhead = false));
      current.run(call, () => next.handle().subscribe(subscriber));
    });
  },
};

/** Lets a method that a library may call through the guards of Nest be limited once for each call: next to the method. */
export function followGuard(handler: object): void {
  const others = enhancersOf(handler, INTERCEPTORS).filter((each) => each !== GUARDED_CALLS);
  Reflect.defineMetadata(INTERCEPTORS, [...others, GUARDED_CALLS], handler);
}
