import {
  Inject,
  Injectable,
  type CanActivate,
  type ExecutionContext,
  type OnModuleInit,
} from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { problem } from '../contracts/rate-limit-config.error.js';
import { checkForeignHooks, checkInjected } from './checks/module-check.js';
import { handlerOf, passGuard } from './applied-call.js';
import { Admission } from './request/admission.js';
import { HttpExchange, isHttp, type SubjectHook } from './request/exchange.js';
import { Warnings } from './warnings.js';
import { Responder, type Deny } from './request/responder.js';
import { Routes, type Handler } from './request/routes.js';
import type { TransportLoader } from './request/transport-loader.js';
import { loadNeeds } from './rules/named-parts.js';
import type { SubjectResolver } from './rules/route-rule.js';
import { RouteRules } from './startup/route-rules.js';
import { TRANSPORT_LOADER } from './tokens.js';

/** Marks a context whose request was counted: Nest passes the same context to all guards of a request. */
const COUNTED = Symbol.for('nestjs-redis-rate-limit:counted');

type Countable = ExecutionContext & { [COUNTED]?: object };

/** The hooks that a guard overrides. */
interface Hooks {
  readonly subjectOf: SubjectHook | undefined;
  readonly skips: boolean;
  readonly denies: boolean;
}

/**
 * Guard that applies the rules of a handler to its requests. The module registers it for every route unless
 * `registerGuard` is `false`. A request that passes it twice is counted once.
 *
 * A subclass can override `subjectOf`, `shouldSkip` and `deny`. It has no constructor of its own; it injects
 * dependencies into properties.
 *
 * @example
 * `@UseGuards(AuthGuard, RateLimitGuard)`
 */
@Injectable()
export class RateLimitGuard implements CanActivate, OnModuleInit {
  private hooks: Hooks | undefined;

  /**
   * @internal
   * @throws RateLimitConfigError if Nest does not inject its dependencies
   */
  constructor(
    @Inject(TRANSPORT_LOADER) private readonly transports: TransportLoader,
    @Inject(Routes) private readonly routes: Routes,
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {
    checkInjected(this, 'Guard', (routes as Partial<Routes> | undefined)?.of);
  }

  /**
   * Nest does not call it for an instance that the application created; the first request does then.
   *
   * @internal
   * @throws RateLimitConfigError if a subclass has hooks of throttler's guard, which would never be called
   */
  onModuleInit(): void {
    this.hooks ??= this.overridden();
  }

  /**
   * Returns `true` if every rule allows the request: synchronously with the memory store.
   *
   * @throws RateLimitExceededException if a rule denies
   * @throws RateLimitUnavailableException if Redis cannot decide and `onStoreError` is `'deny'`
   */
  canActivate(execution: ExecutionContext): boolean | Promise<boolean> {
    const context: Countable = execution;
    const hooks = (this.hooks ??= this.overridden());
    if (context[COUNTED]) return this.passAgain(context[COUNTED], hooks);
    context[COUNTED] = this;
    return hooks.skips ? this.applyUnlessSkipped(context, hooks) : this.apply(context, hooks);
  }

  /**
   * Returns the subject to count a request by, for every rule; `undefined`, `null` or `''` for the subject of the
   * rule's `by`. Synchronous or asynchronous.
   *
   * @param rule name of the rule
   * @example
   * protected override subjectOf(context: ExecutionContext) {
   *   return context.switchToHttp().getRequest().tenant?.id;
   * }
   */
  protected subjectOf(_context: ExecutionContext, _rule: string): ReturnType<SubjectResolver> {
    return undefined;
  }

  /**
   * Returns whether a request is allowed without applying any rule. Only `true` skips the rules. Synchronous or
   * asynchronous.
   *
   * @example
   * protected override shouldSkip(context: ExecutionContext) {
   *   return context.switchToHttp().getRequest().path === '/health';
   * }
   */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Throws the exception of a denied request, synchronously or asynchronously. The headers of the response are already
   * set. If an override returns, the default exception is thrown.
   *
   * @param decision its `fallback` is `'deny'` if the limits could not be checked
   * @param detail replaces the sentence in the problem details
   * @throws RateLimitExceededException by default
   * @throws RateLimitUnavailableException by default, if the limits could not be checked
   * @example
   * protected override deny(context: ExecutionContext, decision: Decision) {
   *   throw new HttpException(`Retry in ${decision.retryAfterMs} ms`, 429);
   * }
   */
  protected deny(context: ExecutionContext, decision: Decision, detail?: string): void | Promise<void> {
    return this.responder.deny(context, decision, detail);
  }

  /** Overrides can be class fields, which exist only after the constructor. */
  private overridden(): Hooks {
    checkForeignHooks(this);
    const base = RateLimitGuard.prototype;
    const hasSubjects = this.subjectOf !== base.subjectOf;
    return {
      subjectOf: hasSubjects ? (context, rule) => this.subjectOf(context, rule) : undefined,
      skips: this.shouldSkip !== base.shouldSkip,
      denies: this.deny !== base.deny,
    };
  }

  private passAgain(first: object, { subjectOf, skips, denies }: Hooks): true {
    const isHooked = subjectOf !== undefined || skips || denies;
    const { name } = this.constructor;
    if (isHooked && first.constructor !== this.constructor) {
      this.warnings.warn(
        'RL_HOOKS_UNUSED',
        `The hooks of ${name} had no effect on a request, since ${first.constructor.name} had counted it. ` +
          'Set `registerGuard: false`, so that yours is the only rate limit guard.',
        name,
      );
    }
    return true;
  }

  private async applyUnlessSkipped(context: ExecutionContext, hooks: Hooks): Promise<boolean> {
    const { current } = this.transports;
    const skips = async (): Promise<unknown> => this.shouldSkip(context);
    const isSkipped = await (current ? current.answerable(context, skips) : skips());
    if (isSkipped === true) {
      passGuard(context); // The method itself does not apply its limits either.
      return true;
    }
    if (isSkipped !== false && isSkipped !== undefined && isSkipped !== null) {
      const { name } = this.constructor;
      const reason = problem(`${name}.shouldSkip`, isSkipped, 'true or false');
      this.warnings.warnOfInvalid(`${name} shouldSkip`, reason, 'The rules apply to such a request');
    }
    return this.apply(context, hooks);
  }

  private apply(context: ExecutionContext, hooks: Hooks): boolean | Promise<boolean> {
    const hasResponse = isHttp(context);
    const { current: others } = this.transports;
    const type = context.getClass();
    const routes = this.routes.byType.get(type);
    const compiled =
      routes?.get(context.getHandler() as Handler) ?? routes?.get(handlerOf(context) as Handler);
    // A class that was loaded after start may have handlers of other transports, and name other algorithms.
    if (!others && !(hasResponse && compiled))
      return this.transports.open().then(() => this.apply(context, hooks));
    const loading = compiled ? undefined : loadNeeds();
    if (loading) return loading.then(() => this.apply(context, hooks));
    const exchange = hasResponse ? new HttpExchange(context) : others!.exchangeOf(context);
    if (hooks.subjectOf) exchange.subjectOf = hooks.subjectOf;
    const known = compiled ?? this.rules.compileLater(type, handlerOf(context) as Handler);
    if (known.isMethod) passGuard(context);
    const route = this.rules.ruled.has(exchange.transport) ? known : known.named;
    const deny = hooks.denies ? this.denyByHook : this.responder.deny;
    return hasResponse
      ? this.admission.enter(route, exchange, deny)
      : others!.stages.enter(route, exchange, deny);
  }

  private readonly denyByHook: Deny = async (context, decision, detail) => {
    await this.deny(context, decision, detail);
    return this.responder.deny(context, decision, detail); // An override that returns must not allow the request.
  };
}
