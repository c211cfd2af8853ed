import { Inject, Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Guards, guardsOn } from './guards.js';
import { classes, handlersOf, IN_THE_METHOD, isCall, isLimitedClass, type HandlerClass } from './handlers.js';
import { DeclaredRules } from '../rules/declared-rules.js';
import { Warnings } from '../warnings.js';
import { Routes, type HandlerMethod } from '../request/routes.js';
import { isIntercepted, isObserved } from '../handler-interceptor.js';

const NONE_IS_A_HANDLER =
  'no method of this provider is a handler, so no guard limits it; write @RateLimit on its asynchronous methods';

/** Finds rules of the module and decorated methods that no guard reaches: their limits would never be enforced. */
@Injectable()
export class StartCheck implements OnApplicationBootstrap {
  private readonly problems: string[] = [];
  private readonly unclear: string[] = [];

  constructor(
    @Inject(DeclaredRules) private readonly declared: DeclaredRules,
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(Routes) private readonly routes: Routes,
  ) {}

  /**
   * Libraries create their handlers up to this hook, and applications add global guards. It is called again when modules
   * were loaded lazily.
   */
  onApplicationBootstrap(): void {
    this.checkModuleRules();
    const unclear = this.unclear.splice(0).join(', ');
    if (unclear === '') return;
    this.warnings.warn(
      'RL_UNREACHED_METHOD',
      `@RateLimit on ${unclear}: no guard is known to run there, so the limit may not be enforced. ` +
        `Move it to a route, or ${IN_THE_METHOD}.`,
      unclear,
    );
  }

  /** Warns if no guard enforces the rules of the module. */
  private checkModuleRules(): void {
    const names = this.declared.everyRoute.map((name) => `"${name}"`);
    if (names.length === 0 || this.guards.hasOurs || !this.hasHandlers()) return;
    const rules = names.length > 1 ? `The rules ${names.join(', ')} limit` : `The rule ${names[0]} limits`;
    this.warnings.warn(
      'RL_NO_GUARD',
      `${rules} no request: \`registerGuard\` is false, and no handler has @UseGuards(RateLimitGuard). ` +
        'Add it to the handlers that `rules` is for, or remove `registerGuard: false`.',
    );
  }

  private hasHandlers(): boolean {
    return [...classes(this.modules)].some(({ type, isController }) =>
      handlersOf(type, isController).some(({ kind }) => !isCall(kind)),
    );
  }

  /** Returns the problems of the methods of a class that are never limited. */
  problemsOf({ type, isController }: HandlerClass, methods: readonly HandlerMethod[]): readonly string[] {
    const isOnClass = isLimitedClass(type);
    let isReached = isController;
    for (const method of methods) {
      const { kind, isLimited } = method;
      const isOther = kind === 'connection' || (isCall(kind) && !isController); // Connections and ProviderMethods limit these.
      this.checkEnd(method);
      if (!isOther && (isLimited || (isOnClass && !isCall(kind)))) this.check(method);
      isReached ||= isOther ? isLimited : !isCall(kind);
    }
    if (isOnClass && !isReached) {
      if (methods.some(({ kind }) => kind === 'unknown')) this.unclear.push(type.name);
      else this.problems.push(`@RateLimit on ${type.name}: ${NONE_IS_A_HANDLER}`);
    }
    return this.problems.splice(0);
  }

  /** The end of a handler is observed if its class was known before its instance, so not if a factory made it. */
  private checkEnd({ type, handler, kind }: HandlerMethod): void {
    if (kind === 'none' || kind === 'http') return;
    const { limits = [] } = this.routes.of(type, handler) ?? {};
    const limit = limits.find((each) =>
      each.isSettled ? !isObserved(handler) : each.endsLate && !isIntercepted(handler),
    );
    if (!limit) return;
    const reason =
      kind === 'connection' && limit.isSettled
        ? 'settles by a result, which a connection lacks; use RateLimitService.reserve()'
        : `needs the end of the handler, which cannot be observed, since a factory or a value provides ${type.name}; provide the class, with useClass`;
    this.problems.push(`${limit.path}: ${reason}`);
  }

  private check(method: HandlerMethod): void {
    const { type, handler, kind, owner } = method;
    if (this.guards.hasOursOn(method)) return;
    const path = `@RateLimit on ${owner}`;
    if (kind === 'unknown') this.unclear.push(owner);
    else if (kind === 'none') {
      this.problems.push(`${path}: this method is not a handler: no guard limits it; ${IN_THE_METHOD}`);
    } else if (kind === 'field') this.checkField(path, method);
    else if (this.guards.hasOursGlobally) return;
    else if ([...this.guards.globals(), ...guardsOn(type), ...guardsOn(handler)].length > 0) {
      this.unclear.push(owner); // Another guard may call RateLimitGuard.
    } else {
      this.problems.push(
        `${path}: no guard limits this handler, since registerGuard is false; add @UseGuards(RateLimitGuard)`,
      );
    }
  }

  /** Nest runs no guard and no interceptor for a field resolver unless the options of GraphQLModule say so. */
  private checkField(path: string, { type, handler }: HandlerMethod): void {
    const endsLate = this.routes.of(type, handler)?.settles === true;
    const needed = endsLate ? ['guards', 'interceptors'] : ['guards'];
    const servers = serversOf(type, this.modules);
    const run = (each: string): boolean =>
      servers.length > 0 &&
      servers.every(({ fieldResolverEnhancers = [] }) => fieldResolverEnhancers.includes(each));
    if (needed.every(run)) return;
    const list = needed.map((each) => `'${each}'`).join(', ');
    this.problems.push(
      `${path}: no guard runs for a field resolver; set fieldResolverEnhancers: [${list}] in GraphQLModule, or ${IN_THE_METHOD}`,
    );
  }
}

/** Options of a GraphQLModule. */
interface GraphqlOptions {
  readonly fieldResolverEnhancers?: readonly string[];
  /** The modules whose resolvers it serves: all if there are none. */
  readonly include?: readonly unknown[];
}

/** Returns the options of each GraphQLModule that serves a resolver. */
function serversOf(type: Type, modules: ModulesContainer): readonly GraphqlOptions[] {
  const all = [...modules.values()];
  const hosts = all.filter(({ providers }) =>
    [...providers.values()].some(({ metatype }) => metatype === type),
  );
  return all.flatMap(({ providers }) => {
    const options = providers.get('GqlModuleOptions')?.instance as GraphqlOptions | undefined;
    const { include = [] } = options ?? {};
    const isServed = include.length === 0 || hosts.some(({ metatype }) => include.includes(metatype));
    return options && isServed ? [options] : [];
  });
}
