import { Inject, Injectable, type ExecutionContext, type Type } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { addStreamCallFilter, answerable, takesStreamCalls } from './grpc-stream-call.js';
import { GraphqlResponse } from './graphql-operation.js';
import { addFilter, addressOf, answerDenial, exchangeOf } from './transports.js';
import { enhancersOf, HANDLER_INTERCEPTOR, intercept, INTERCEPTORS } from '../nest/handler-interceptor.js';
import { HandlerStages } from './handler-stages.js';
import { Handshakes } from './handshakes.js';
import { followGuard } from '../nest/applied-call.js';
import { RateLimitGuard } from '../nest/rate-limit.guard.js';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options.js';
import { Admission } from '../nest/request/admission.js';
import type { Exchange } from '../nest/request/exchange.js';
import type { OtherTransports } from '../nest/request/transport-loader.js';
import { DeclaredRules } from '../nest/rules/declared-rules.js';
import { RATE_LIMIT_OPTIONS, REGISTERS_FILTER } from '../nest/tokens.js';
import { Warnings } from '../nest/warnings.js';
import { Connections } from './connections.js';
import { Guards, addGuard } from '../nest/startup/guards.js';
import { declaredClasses, handlersOf, isLimitedClass } from '../nest/startup/handlers.js';

/**
 * Adds to handlers outside HTTP what limits them: the interceptor that observes their end, and where Nest runs no global
 * enhancers the guard and the filter. The interceptor is the first one of the application, the class and the handler, so
 * that it sees the end as well if another one answers instead of the handler. Runs in a constructor, since Nest reads the
 * enhancers of gateways before any hook, and adds those of the application after all instances.
 */
@Injectable()
export class HandlerEnhancers implements OtherTransports {
  readonly stages: HandlerStages;
  readonly graphql: GraphqlResponse;
  readonly addressOf = addressOf;
  readonly answerable = answerable;
  readonly answerDenial = answerDenial;
  private readonly connections: Connections;
  private readonly handshakes: Handshakes;
  private isObserving = false;
  /** A class whose handlers need one guard for all requests. */
  private guarded: string | undefined;

  constructor(
    @Inject(Guards) guards: Guards,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(DeclaredRules) private readonly declared: DeclaredRules,
    @Inject(REGISTERS_FILTER) private readonly registersFilter: boolean,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(HttpAdapterHost) host: HttpAdapterHost,
    @Inject(Admission) admission: Admission,
    @Inject(RATE_LIMIT_OPTIONS) options: RateLimitModuleOptions,
    @Inject(Warnings) warnings: Warnings,
  ) {
    this.stages = new HandlerStages(admission, options?.onDeniedEvent !== 'throw', warnings);
    this.graphql = new GraphqlResponse(host);
    this.handshakes = new Handshakes(host);
    this.connections = new Connections(guards, modules);
    for (const { type, isController } of declaredClasses(modules)) this.wire(type, isController);
    if (this.isObserving) config.addGlobalInterceptor(HANDLER_INTERCEPTOR);
    if (this.guarded !== undefined) guards.provide();
  }

  exchangeOf(context: ExecutionContext): Exchange {
    return exchangeOf(context, this.handshakes);
  }

  /** Returns why gateways and microservices cannot be limited. */
  problems(): readonly string[] {
    const problems = this.connections.problemsOfGateways();
    const guard = this.config
      .getGlobalRequestGuards()
      .find(({ metatype }) => metatype?.prototype instanceof RateLimitGuard);
    if (!guard || this.guarded === undefined) return problems;
    const problem = `${guard.name}: a guard with the scope REQUEST or TRANSIENT cannot limit gateways and microservices, such as ${this.guarded}; use the default scope`;
    return [...problems, problem];
  }

  start(): void {
    this.handshakes.start();
    this.connections.start();
  }

  stop(): void {
    this.connections.stop();
  }

  private wire(type: Type, isController: boolean): void {
    const methods = handlersOf(type, isController);
    const hasRules = this.declared.everyRoute.length > 0 || isLimitedClass(type);
    const isMixed = methods.some(({ kind }) => kind === 'http');
    for (const { handler, kind, isLimited } of methods) {
      if (kind === 'none' || kind === 'http') continue;
      if (!isLimited && (kind === 'connection' || !hasRules)) continue;
      this.isObserving = true;
      intercept(handler);
      if (kind === 'unknown') followGuard(handler); // A decorator may have replaced the limited method.
      if (enhancersOf(type, INTERCEPTORS).length > 0) intercept(type);
      if (takesStreamCalls(handler)) addStreamCallFilter(handler);
      if (kind === 'connection') this.connections.limit(type);
      const isAdded = kind === 'gateway' || kind === 'pattern';
      if (isAdded || kind === 'connection') this.guarded ??= type.name;
      if (!isAdded) continue;
      const target = isMixed ? handler : type; // Nest runs no global guard and no global filter for these.
      addGuard(target);
      if (this.registersFilter) addFilter(target, type);
    }
  }
}
