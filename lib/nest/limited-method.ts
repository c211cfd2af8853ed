import { Inject, Injectable, Optional } from '@nestjs/common';
import { ofProcess } from '../contracts/entry-of.js';
import { followGuard } from './applied-call.js';

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
  call(method: LimitedMethod, instance: object | undefined, args: unknown[]): unknown;
  /** Reports a call that was not limited. */
  passed(method: LimitedMethod): void;
}

/** What Nest injects into instances. It depends on nothing, so that an instance can be part of the module's options. */
@Injectable()
export class InjectedLimiter {
  /** Absent until the module has its options. Calls before are not limited. */
  limiter: MethodLimiter | undefined;
  private readonly early = new Set<LimitedMethod>();

  passed(method: LimitedMethod): void {
    if (this.limiter) this.limiter.passed(method);
    else this.early.add(method);
  }

  start(limiter: MethodLimiter): void {
    this.limiter = limiter;
    for (const method of this.early) limiter.passed(method);
  }
}

/** The injection token of an application's `InjectedLimiter`. An instance whose calls are limited is given it by this key. */
export const METHOD_LIMITER = Symbol.for('nestjs-redis-rate-limit:method-limiter');

const LIMITED = Symbol.for('nestjs-redis-rate-limit:limited');

const { ofInstances, running, passed } = ofProcess('method-limiters', () => ({
  /** Of the instances into which Nest has injected one. */
  ofInstances: new WeakMap<object, InjectedLimiter>(),
  /** Of the applications that have started and not ended. */
  running: new Set<MethodLimiter>(),
  /** The methods of instances that were called before they had a limiter. */
  passed: new WeakMap<object, LimitedMethod>(),
}));

/** Assigns an instance to the limiter of its application. */
export function assignLimiter(instance: object, limiter: InjectedLimiter): void {
  ofInstances.set(instance, limiter);
  const early = passed.get(instance);
  if (early) limiter.passed(early);
}

/**
 * Adds the limiter of an application that has started. While it is the only one, it limits instances that Nest has not
 * created or not injected into as well, such as those of request-scoped factories, and objects behind a Proxy.
 *
 * @returns removes it
 */
export function startLimiter(limiter: MethodLimiter): () => void {
  running.add(limiter);
  return () => void running.delete(limiter);
}

function limiterOf(instance: object | undefined, method: LimitedMethod): MethodLimiter | undefined {
  const own = instance && ofInstances.get(instance);
  if (own) {
    if (!own.limiter) own.passed(method);
    return own.limiter;
  }
  const [first] = running;
  if (running.size === 1) return first;
  if (instance && !first) passed.set(instance, method);
  for (const each of running) each.passed(method);
  return undefined;
}

/**
 * Replaces a method by one that limits its calls. It is replaced at its decoration, since libraries bind methods before any
 * hook of the application runs.
 */
export function limitCalls(target: object, name: string, descriptor: TypedPropertyDescriptor<Method>): void {
  const method = descriptor.value!;
  // The guard limits a route, whose decorator is usually below this one.
  if (Reflect.hasMetadata('path', method) || Reflect.hasOwnMetadata(LIMITED, target, name)) return;
  const limited: Method = function (...args) {
    const limiter = limiterOf(this, self);
    return limiter ? limiter.call(self, this, args) : method.apply(this, args);
  };
  const self: LimitedMethod = { target, name, limited, method };
  describeAs(limited, method);
  followGuard(limited);
  descriptor.value = limited;
  Object.defineProperty(target, name, descriptor); // A decorator that is called as a function has no effect otherwise.
  Reflect.defineMetadata(LIMITED, self, target, name);
  if (!(METHOD_LIMITER in target)) takeLimiter(target);
}

/** Gives a method the metadata and the properties of the one that it replaces. */
export function describeAs(replacement: Method, method: Method): void {
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), replacement);
  }
  Object.defineProperties(replacement, Object.getOwnPropertyDescriptors(method));
}

/** Returns the prototype that has a method: that of a class, or of one that it extends; `null` if none has it. */
export function ownerOf(prototype: object | null, name: string): object | null {
  if (prototype === null || Object.hasOwn(prototype, name)) return prototype;
  return ownerOf(Object.getPrototypeOf(prototype) as object | null, name);
}

/** Returns the decorated method of a class, or the one that it inherits; `undefined` if there is none. */
export function limitedMethod(prototype: object, name: string): LimitedMethod | undefined {
  return Reflect.getMetadata(LIMITED, prototype, name) as LimitedMethod | undefined;
}

/** Lets Nest inject the limiter into the instances of a class, without a property that others could see. */
function takeLimiter(target: object): void {
  Object.defineProperty(target, METHOD_LIMITER, {
    configurable: true,
    set(this: object, limiter: InjectedLimiter) {
      assignLimiter(this, limiter);
    },
  });
  Optional()(target, METHOD_LIMITER);
  Inject(METHOD_LIMITER)(target, METHOD_LIMITER);
}
