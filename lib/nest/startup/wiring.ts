import { Inject, Injectable, type Type } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import { RuleBook } from '../rules/rule-book.js';
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
import { declaredClasses, lineage, methodsOf, handlerKind, type HandlerKind } from './handlers.js';

/**
 * Adds to handlers outside HTTP what limits them: the interceptor that observes their end, and where Nest runs no global
 * enhancers the guard and the filter. The interceptor is the first one of the application, the class and the handler, so
 * that it sees the end as well if another one answers instead of the handler. Runs in a constructor, since Nest reads the
 * enhancers of gateways before any hook, and adds those of the application after all instances.
 */
@Injectable()
export class Wiring {
  private isObserving = false;

  constructor(
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(REGISTERS_FILTER) private readonly registersFilter: boolean,
    @Inject(Connections) private readonly connections: Connections,
    @Inject(ApplicationConfig) config: ApplicationConfig,
  ) {
    for (const { type, isController } of declaredClasses(modules)) this.wire(type, isController);
    if (this.isObserving) config.addGlobalInterceptor(HANDLER_INTERCEPTOR);
  }

  private wire(type: Type, isController: boolean): void {
    const { prototype } = type as { prototype: Record<string, object> };
    const kinds = new Map<string, HandlerKind>();
    for (const name of methodsOf(type)) kinds.set(name, handlerKind(type, name, isController));
    const isMixed = [...kinds.values()].includes('http');
    for (const [name, kind] of kinds) {
      if (kind === 'none' || kind === 'http' || !this.mayHaveRules(type, name)) continue;
      if (kind === 'connection' && methodRules(type, name).rules.length === 0) continue;
      this.isObserving = true;
      intercept(prototype[name]!);
      if (hasInterceptors(type)) intercept(type);
      if (takesStreamCalls(prototype[name]!)) addStreamCallFilter(prototype[name]!);
      if (kind === 'connection') this.connections.limit(type);
      if (kind === 'gateway' || kind === 'pattern')
        this.wireUnreached(isMixed ? prototype[name]! : type, type);
    }
  }

  private wireUnreached(target: object, type: Type): void {
    addGuard(target, this.guards);
    if (this.registersFilter) addFilter(target, type);
  }

  private mayHaveRules(type: Type, name: string): boolean {
    if (this.book.everyRoute.length > 0 || methodRules(type, name).rules.length > 0) return true;
    return lineage(type).some((each) => targetRules(each).rules.length > 0);
  }
}
