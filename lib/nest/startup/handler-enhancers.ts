import { Inject, Injectable, type Type } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { DeclaredRules } from '../rules/declared-rules.js';
import { REGISTERS_FILTER } from '../tokens.js';
import { Connections } from './connections.js';
import { addStreamCallFilter, takesStreamCalls } from '../../transports/grpc-stream-call.js';
import {
  addFilter,
  HANDLER_INTERCEPTOR,
  hasInterceptors,
  intercept,
} from '../../transports/handler-interceptor.js';
import { Guards, addGuard } from './guards.js';
import { declaredClasses, handlersOf, isLimitedClass } from './handlers.js';

/**
 * Adds to handlers outside HTTP what limits them: the interceptor that observes their end, and where Nest runs no global
 * enhancers the guard and the filter. The interceptor is the first one of the application, the class and the handler, so
 * that it sees the end as well if another one answers instead of the handler. Runs in a constructor, since Nest reads the
 * enhancers of gateways before any hook, and adds those of the application after all instances.
 */
@Injectable()
export class HandlerEnhancers {
  private isObserving = false;

  constructor(
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(DeclaredRules) private readonly declared: DeclaredRules,
    @Inject(REGISTERS_FILTER) private readonly registersFilter: boolean,
    @Inject(Connections) private readonly connections: Connections,
    @Inject(ApplicationConfig) config: ApplicationConfig,
  ) {
    for (const { type, isController } of declaredClasses(modules)) this.wire(type, isController);
    if (this.isObserving) config.addGlobalInterceptor(HANDLER_INTERCEPTOR);
  }

  private wire(type: Type, isController: boolean): void {
    const methods = handlersOf(type, isController);
    const isMixed = methods.some(({ kind }) => kind === 'http');
    for (const { handler, kind, isLimited } of methods) {
      if (kind === 'none' || kind === 'http') continue;
      if (!isLimited && (kind === 'connection' || !this.hasRules(type))) continue;
      this.isObserving = true;
      intercept(handler);
      if (hasInterceptors(type)) intercept(type);
      if (takesStreamCalls(handler)) addStreamCallFilter(handler);
      if (kind === 'connection') this.connections.limit(type);
      if (kind === 'gateway' || kind === 'pattern') this.wireUnreached(isMixed ? handler : type, type);
    }
  }

  private wireUnreached(target: object, type: Type): void {
    addGuard(target, this.guards);
    if (this.registersFilter) addFilter(target, type);
  }

  /** Whether rules apply to all methods of a class. */
  private hasRules(type: Type): boolean {
    return this.declared.everyRoute.length > 0 || isLimitedClass(type);
  }
}
