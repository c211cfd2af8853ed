import { Inject, Injectable, Logger, type OnApplicationShutdown, type Type } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { tooManyKeys } from '../../rules/keys.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { escaped } from '../../contracts/shown.js';
import { Warnings } from '../warnings.js';
import {
  addressProblem,
  byHandProblem,
  waitProblems,
  warnOfUnboundedRoutes,
  unreadThrottle,
} from '../checks/route-checks.js';
import type * as EarlyChecks from '../checks/before-routing-checks.js';
import {
  handlerKind,
  handlerMethod,
  lineage,
  methodsOf,
  isApplied,
  isCall,
  isController,
  targetsOf,
} from './handlers.js';
import { textOf } from '../request/rate-limit-extension.js';
import { BeforeRouting, type EarlyRule } from '../request/before-routing.js';
import { RouteLimit } from '../request/route-limit.js';
import type { TransportLoader } from '../request/transport-loader.js';
import { TRANSPORT_LOADER } from '../tokens.js';
import { unreadVariables } from '../rules/overrides.js';
import { isIntercepted } from '../handler-interceptor.js';
import { RouteIds } from './route-ids.js';
import { Route, Routes, type Handler, type HandlerKind, type HandlerMethod } from '../request/routes.js';
import { DeclaredRules } from '../rules/declared-rules.js';
import { RuleTable } from '../rules/rule-table.js';
import { loaded } from '../rules/named-parts.js';
import { namedOn, type RuleFields } from '../rules/rule-layers.js';
import type { FirstTargets } from '../rules/shared-rules.js';
import { SubjectChecks } from '../checks/subject-checks.js';
import type { TransportName } from '../rules/route-rule.js';
import { RuleMistakes } from '../checks/rule-mistakes.js';
import { SETTLEMENTS, USAGE } from '../parameter.decorators.js';

/** Compiles and checks the rules of every route at start. */
@Injectable()
export class RouteRules implements OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  private readonly shared: FirstTargets = new Map();
  private readonly ids: RouteIds;
  private readonly mistakes: RuleMistakes;
  /** Absent if no rule is applied before routing. */
  private early: typeof EarlyChecks | undefined;
  /** The transports whose handlers all have the module's rules. */
  readonly ruled: ReadonlySet<TransportName>;

  constructor(
    @Inject(DeclaredRules) private readonly declared: DeclaredRules,
    @Inject(RuleTable) private readonly table: RuleTable,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(SubjectChecks) private readonly checks: SubjectChecks,
    @Inject(Routes) private readonly routes: Routes,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(BeforeRouting) private readonly before: BeforeRouting,
    @Inject(TRANSPORT_LOADER) transports: TransportLoader,
  ) {
    this.ids = new RouteIds(config, modules, declared.problems, transports);
    this.ruled = new Set(declared.ruledTransports);
    this.mistakes = new RuleMistakes(warnings, declared);
  }

  /** Compiles the rules of the module's options. */
  async compileOptions(): Promise<void> {
    if (this.before.rules.size > 0) this.early = await import('../checks/before-routing-checks.js');
    for (const rule of this.declared.optionRules()) {
      const limit = this.limitOf(rule, 'the module', undefined);
      const early = this.before.rules.get(rule['name'] as string);
      if (limit && early) this.compileEarly(limit, early, rule);
    }
    this.before.isStarted = true;
    if (!this.early) return;
    this.logger.debug(this.early.EXPOSED_HINT);
    this.declared.report(...this.early.unknownEarlyRules(this.before, this.declared));
  }

  private compileEarly(limit: RouteLimit, early: EarlyRule, rule: RuleFields): void {
    this.declared.report(...this.early!.earlyProblems(limit));
    this.mistakes.add(rule, 'limitBeforeRouting()');
    early.route = new Route([limit]);
    this.logger.debug(`${this.early!.coverageOf(early)} (limitBeforeRouting): ${textOf(limit)}`);
  }

  /** Whether a rule is applied on conditions, or a live change may add some. */
  get areConditional(): boolean {
    const { liveRules } = this.declared.read;
    return liveRules !== undefined || this.table.known.some(({ current }) => current.isConditional);
  }

  /** Compiles the rules of the methods of a class. */
  compile(methods: readonly HandlerMethod[]): void {
    for (const method of methods) {
      const { type, kind } = method;
      const route = this.routeOf(method);
      this.checkAddresses(route, kind);
      if (kind !== 'none' && route.limits.length > 0)
        this.declared.report(unreadThrottle(method, lineage(type), this.modules, this.config));
    }
  }

  /**
   * Checks all rules once those of all routes are compiled.
   *
   * @param others the problems of other checks
   * @throws RateLimitConfigError listing all problems
   */
  finish(others: readonly string[]): void {
    this.declared.checkNames();
    this.checkAlone();
    this.declared.report(...others);
    this.declared.throwIfWrong();
    this.mistakes.check();
    warnOfUnboundedRoutes(this.routes.all(), this.warnings);
    this.warnOfUnreadVariables();
    if (this.declared.lacksRules)
      this.warnings.warn(
        'RL_NO_RULES',
        'There is no rule, so nothing is limited. Write one: `rules: { default: { window: "1m", limit: 100 } }`.',
      );
  }

  onApplicationShutdown(): void {
    this.mistakes.close();
  }

  private warnOfUnreadVariables(): void {
    const names = unreadVariables(this.declared.read.overrides);
    if (names.length === 0) return;
    this.warnings.warn(
      'RL_UNREAD_VARIABLES',
      `${names.join(', ')}: set in the environment and not read, so no rule has the value. Add ` +
        '`overrides: overridesFromEnv(config)` to the options of the module, or remove the variable.',
    );
  }

  /** Compiles the rules of a handler that is found after start, such as one of a class that is created later. */
  compileLater(type: Type, handler: Handler): Route {
    try {
      const name = methodNameOf(type, handler);
      const isMethod = name in (type.prototype as object); // A library may call a function in its place.
      const kind = isMethod ? handlerKind(type, name, isController(type)) : 'unknown';
      const method = handlerMethod(type, name, handler, kind);
      const isCalled = kind === 'none' && !method.isLimited;
      return this.declared.later(() => this.routeOf(isCalled ? { ...method, kind: 'unknown' } : method));
    } catch (error) {
      const reason =
        error instanceof RateLimitConfigError ? error.problems.join('; ') : escaped(String(error));
      this.logger.error(`${type.name}.${handler.name} answers 500, since its rules are wrong: ${reason}`);
      return this.routes.set(type, handler, new Route([], false, true));
    }
  }

  /** Messages and calls have no client address. */
  private checkAddresses(route: Route, kind: HandlerKind): void {
    if (kind !== 'pattern' && kind !== 'none') return;
    const what = kind === 'pattern' ? 'a message or an event' : 'a call of a method';
    const { limits } = kind === 'pattern' && this.ruled.has('rpc') ? route : route.named;
    this.declared.report(...limits.map((limit) => addressProblem(limit, what)));
  }

  private checkAlone(): void {
    const modules = [...this.modules.values()].filter(({ providers }) => providers.has(RouteRules));
    if (modules.length > 1) {
      this.declared.problems.add(
        'RateLimitModule: imported with options more than once; allowed: once, in the root module',
      );
    }
  }

  private routeOf(method: HandlerMethod): Route {
    const { type, name, handler, kind, owner } = method;
    const targets = targetsOf(method);
    const rules = this.declared
      .rulesFor(targets)
      .filter((rule) => !ALONE.has(kind) || namedOn(rule) === 'handler');
    if (this.early && OF_REQUESTS.has(kind))
      this.declared.report(...this.early.earlyOverrides(rules, this.before, owner));
    const keysOf = ({ trial, block }: RuleFields): number => (trial ? 2 : 1) * (block ? 2 : 1);
    const keys = rules.reduce((sum, rule) => sum + keysOf(rule), 0);
    this.declared.report(tooManyKeys(owner, keys));
    const applied = rules.filter((rule) => isApplied(rule, method, this.ruled));
    const id = this.ids.of(method, applied);
    const counted: RouteLimit[] = [];
    const limits = rules.flatMap((rule) => {
      const limit = this.limitOf(rule, owner, id);
      if (limit && applied.includes(rule)) {
        counted.push(limit);
        this.mistakes.add(rule, owner, Reflect.hasMetadata(USAGE, type.prototype as object, name));
        this.logger.debug(`${id === owner ? id : `${id} (${owner})`}: ${textOf(limit)}`);
      }
      return limit ?? [];
    });
    const isSkipped = targets.some(({ skipped }) => skipped.length > 0);
    const byHand: unknown = Reflect.getMetadata(SETTLEMENTS, type.prototype as object, name);
    const problem = byHandProblem(method, byHand, applied, isSkipped);
    this.declared.report(...waitProblems(kind === 'none', counted), problem);
    this.mistakes.addMethod(method);
    const route = new Route(limits, isIntercepted(handler));
    route.isMethod = isCall(kind) && !isController(type);
    return this.routes.set(type, handler, route);
  }

  /** @param id the route; `undefined` for a rule of the module */
  private limitOf(fields: RuleFields, owner: string, id: string | undefined): RouteLimit | undefined {
    const rule = this.table.compile(fields, owner, id);
    if (!rule) return undefined;
    if (fields['scope'] === 'shared')
      this.declared.report(loaded.variation!.sharedProblem(this.shared, fields, owner));
    const limit = new RouteLimit(rule, this.warnings, this.declared.read.onStoreError);
    if (id !== undefined) this.before.precede(limit);
    this.checks.add(limit);
    return limit;
  }
}

/**
 * Kinds of handlers that only their own rules limit: a field is resolved once for each object in a response, and the other
 * rules of a gateway limit its messages.
 */
const ALONE: ReadonlySet<HandlerKind> = new Set(['field', 'connection']);

/** Kinds of handlers whose requests a rule before routing has charged: messages and calls are charged on their own. */
const OF_REQUESTS: ReadonlySet<HandlerKind> = new Set(['http', 'graphql', 'field']);

/** The name of the method that is a handler. The function's own name can differ if a decorator replaced it. */
function methodNameOf(type: Type, handler: Handler): string {
  const { prototype } = type as { prototype: Record<string, Handler> };
  return methodsOf(type).find((name) => prototype[name] === handler) ?? handler.name;
}
