import { Inject, Injectable, type OnApplicationShutdown, type Type } from '@nestjs/common';
import { entryOf } from '../../contracts/entry-of.js';
import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { isApplied, runApplied } from '../applied-call.js';
import { Responder } from '../request/responder.js';
import { Routes, type Handler, type HandlerMethod } from '../request/routes.js';
import {
  assignLimiter,
  type InjectedLimiter,
  limitedMethod,
  METHOD_LIMITER,
  ownerOf,
  startLimiter,
  type LimitedMethod,
  type Method,
  type MethodLimiter,
} from '../limited-method.js';
import { loadNeeds } from '../rules/named-parts.js';
import type { TransportLoader } from '../request/transport-loader.js';
import { TRANSPORT_LOADER } from '../tokens.js';
import { isCall, isController, isGateway, classOf, handlerKind, IN_THE_METHOD } from './handlers.js';
import { RouteRules } from './route-rules.js';
import { Warnings } from '../warnings.js';

/** The types of results that may be promises, as TypeScript writes them: a union is `Object`. */
const MAY_BE_PROMISE: readonly unknown[] = [undefined, Object, Promise];

/** The hooks that Nest calls on all providers. */
const HOOKS = /^(onModule(Init|Destroy)|onApplication(Bootstrap|Shutdown)|beforeApplicationShutdown)$/;

/** The hooks that Nest calls on gateways. An error of `handleDisconnect` would end the process. */
const GATEWAY_HOOKS = ['afterInit', 'handleDisconnect'];

/** What is limited when a method is called; absent if a guard limits it. */
type Entry = ReturnType<typeof limitsOf>;

/** Limits the calls of decorated methods of providers, which no guard reaches. */
@Injectable()
export class ProviderMethods implements OnApplicationShutdown, MethodLimiter {
  private stop = (): void => undefined;
  /** What limits the calls of a method on the instances of a class; `undefined` if something else does. */
  private readonly known = new WeakMap<object, Map<Method, Entry>>();

  constructor(
    @Inject(Routes) private readonly routes: Routes,
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(TRANSPORT_LOADER) private readonly transports: TransportLoader,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(METHOD_LIMITER) private readonly injected: InjectedLimiter,
  ) {
    injected.start(this);
  }

  /** Limits all calls from now on: the application has no problems. */
  start(): void {
    this.stop = startLimiter(this);
  }

  onApplicationShutdown(): void {
    this.stop();
  }

  passed(method: LimitedMethod): void {
    const { target, name } = method;
    if (!limitsOf(target.constructor as Type, method)) return;
    const path = `${target.constructor.name}.${name}`;
    this.warnings.warn(
      'RL_UNREACHED_METHOD',
      `@RateLimit on ${path}: a call was not limited, since it came before RateLimitModule had started, or on an object ` +
        'that Nest has not created while several applications run in the process. Call it from onModuleInit() on, and on ' +
        'a provider.',
      path,
    );
  }

  /**
   * Limits a call, unless a guard has, or the call of the method that overrides it.
   *
   * @throws RateLimitExceededException if a rule denies
   */
  call(method: LimitedMethod, instance: object, args: unknown[]): unknown {
    const type = typeOf(instance, method);
    const entry = this.entryOf(type, method);
    const apply = (): unknown => method.method.apply(instance, args);
    if (!entry) return apply();
    const { handler, overrides } = entry;
    if (isApplied(handler, entry.isOverridden)) return runApplied(handler, apply);
    const compiled = this.routes.of(type, handler);
    const loading = compiled ? undefined : loadNeeds();
    if (loading) return loading.then(() => this.call(method, instance, args));
    const route = compiled ?? this.rules.compileLater(type, handler);
    const run = (): unknown => checked(apply(), type, method.name);
    const limited = overrides ? () => runApplied(handler, run) : run;
    const { deny } = this.responder;
    return this.transports
      .open()
      .then(({ stages }) => stages.call(route.named, [type, handler, args], deny, limited));
  }

  private entryOf(type: Type, method: LimitedMethod): Entry {
    const methods = entryOf(this.known, type, () => new Map<Method, Entry>());
    const { limited } = method;
    if (!methods.has(limited)) methods.set(limited, limitsOf(type, method));
    return methods.get(limited);
  }

  /** Limits the calls on an instance, and returns what is wrong. Nest injects nothing into those of factories and values. */
  limit(instance: object, methods: readonly HandlerMethod[]): readonly string[] {
    const limited = methods.filter(({ isLimited }) => isLimited);
    if (limited.some(({ kind }) => isCall(kind))) assignLimiter(instance, this.injected);
    return limited.flatMap((method) => problemOf(method, instance) ?? []);
  }
}

/** Returns what is limited when a method is called on an instance; `undefined` if a guard limits it. */
function limitsOf(type: Type, method: LimitedMethod) {
  const { name } = method;
  if (isController(type) || !isCall(handlerKind(type, name, false))) return undefined;
  const nearest = limitedMethod(type.prototype as object, name) ?? method;
  const owner = ownerOf(type.prototype as object, name);
  return {
    /** The handler whose rules apply: that of the nearest decorator. */
    handler: owner === nearest.target ? (owner as Record<string, Handler>)[name]! : nearest.limited,
    /** Whether the method is called as `super.method()`. */
    isOverridden: nearest.target !== method.target,
    /** Whether the handler overrides another limited method. */
    overrides: limitedMethod(Object.getPrototypeOf(nearest.target) as object, name) !== undefined,
  };
}

/** Returns the class whose limits a call has: that of the method if it is called on another object. */
function typeOf(instance: object | undefined, { target, name }: LimitedMethod): Type {
  const type = classOf(instance) as Type | undefined;
  return type?.prototype && name in type.prototype ? type : (target.constructor as Type);
}

function problemOf({ type, name, kind, owner }: HandlerMethod, instance: object): string | undefined {
  const path = `@RateLimit on ${owner}`;
  if (Object.hasOwn(instance, name) && !isBound(instance, name)) {
    return `${path}: an instance has another function in place of the method, which is not limited; remove the property, or use RateLimitService.consume() in it`;
  }
  if (isController(type)) return undefined;
  const fix = hookFix(type, name);
  if (fix) return `${path}: Nest calls this method itself and handles no denial; ${fix}`;
  if (kind !== 'none') return undefined;
  const form = limitedMethod(type.prototype as object, name)?.method.constructor.name;
  if (form === 'AsyncGeneratorFunction' || form === 'GeneratorFunction') {
    return `${path}: the method is a generator, whose calls cannot be limited; limit an async method that returns the iterable, or use RateLimitService.consume() in it`;
  }
  const returned: unknown = Reflect.getMetadata('design:returntype', type.prototype as object, name);
  if (form === 'AsyncFunction' || MAY_BE_PROMISE.includes(returned)) return undefined;
  return `${path}: the method is synchronous, and a limit is not; make it async, or use RateLimitService.consume() in the method`;
}

/** Returns what to write instead of a limit on a hook; `undefined` for other methods. */
function hookFix(type: Type, name: string): string | undefined {
  if (HOOKS.test(name)) return IN_THE_METHOD;
  return isGateway(type) && GATEWAY_HOOKS.includes(name) ? 'limit handleConnection or messages' : undefined;
}

/** Whether the property of an instance is a method bound to it, as in `this.send = this.send.bind(this)`. */
function isBound(instance: object, name: string): boolean {
  const value: unknown = Object.getOwnPropertyDescriptor(instance, name)!.value;
  return typeof value === 'function' && value.name === `bound ${name}`;
}

/** @throws RateLimitConfigError if a method whose type did not show it is synchronous */
function checked(result: unknown, type: Type, name: string): unknown {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') return result;
  if (handlerKind(type, name, false) === 'unknown') return result; // a library calls it, which may accept both
  rejectConfig(
    `@RateLimit on ${type.name}.${name}: the method returned no promise, and a limit is not synchronous; make it async`,
  );
}
