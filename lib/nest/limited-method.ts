import { Inject, Optional } from '@nestjs/common';

/** A method as its class has it. */
export type Method = (this: object, ...args: unknown[]) => unknown;

/** A decorated method of a class. */
export interface LimitedMethod {
  /** The prototype of the class that has the decorator. */
  readonly target: object;
  readonly name: string;
  /** The function that replaces the method in its class. */
  readonly limited: Method;
  /** The method without limits. */
  readonly method: Method;
}

/** Limits the calls of decorated methods, for the instances of one application. */
export interface MethodLimiter {
  call(method: LimitedMethod, instance: object, args: unknown[]): unknown;
}

/** The injection token of an application's `MethodLimiter`. An instance whose calls are limited is given it by this key. */
export const METHOD_LIMITER = Symbol.for('nestjs-redis-rate-limit:method-limiter');

const LIMITED = Symbol.for('nestjs-redis-rate-limit:limited');

const limiters = new WeakMap<object, MethodLimiter>();

/**
 * Replaces a method by one that limits its calls on the instances that have a limiter: Nest injects it into the instances
 * that it creates. It is replaced at its decoration, since libraries bind methods before any hook of the application runs.
 */
export function limitCalls(target: object, name: string, descriptor: TypedPropertyDescriptor<Method>): void {
  const method = descriptor.value!;
  // The guard limits a route, whose decorator is usually below this one.
  if (Reflect.hasMetadata('path', method) || Reflect.hasOwnMetadata(LIMITED, target, name)) return;
  const limited: Method = function (...args) {
    const limiter = limiters.get(this);
    return limiter ? limiter.call(self, this, args) : method.apply(this, args);
  };
  const self: LimitedMethod = { target, name, limited, method };
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), limited);
  }
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(limited, key, { value: method[key], configurable: true });
  }
  descriptor.value = limited;
  Reflect.defineMetadata(LIMITED, self, target, name);
  if (!(METHOD_LIMITER in target)) takeLimiter(target);
}

/** Returns the decorated method of a class, or the one that it inherits; `undefined` if there is none. */
export function limitedMethod(prototype: object, name: string): LimitedMethod | undefined {
  return Reflect.getMetadata(LIMITED, prototype, name) as LimitedMethod | undefined;
}

/** Lets Nest inject the limiter into the instances of a class, without a property that others could see. */
function takeLimiter(target: object): void {
  Object.defineProperty(target, METHOD_LIMITER, {
    configurable: true,
    set(this: object, limiter: MethodLimiter) {
      limiters.set(this, limiter);
    },
  });
  Optional()(target, METHOD_LIMITER);
  Inject(METHOD_LIMITER)(target, METHOD_LIMITER);
}
