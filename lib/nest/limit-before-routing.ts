import {
  Inject,
  Injectable,
  InternalServerErrorException,
  type INestApplication,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { listOf, readOptions } from '../contracts/options.js';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { BeforeRouting } from './request/before-routing.js';
import type { EarlyRequest, EarlyRequests, Next } from './early-requests.js';
import { Warnings } from './warnings.js';

/** Injection token of what applies rules before routing. */
export const ROUTING_LIMITER = Symbol.for('nestjs-redis-rate-limit:routing-limiter');

type Middleware = (request: EarlyRequest, response: object, next: Next) => void;

/** The parts of a Fastify instance that are used. */
interface Fastify {
  register(plugin: (instance: Fastify, options: object, done: Next) => void): unknown;
  addHook(name: 'onRequest', hook: Middleware): unknown;
}

/** Without it, a plugin of Fastify covers its own routes only, which are none. */
const ON_ROOT = { [Symbol.for('skip-override')]: true };

const PATHS = listOf('normalized paths such as "/health", without a query', isPath);

/** Applies rules of `onDemand` before routing. */
@Injectable()
export class RoutingLimiter implements OnModuleInit {
  private requests: EarlyRequests | undefined;
  /** The first rule that was applied before the option `cors` of the application sets headers. */
  private beforeCors: string | undefined;

  constructor(
    @Inject(BeforeRouting) private readonly before: BeforeRouting,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(ModuleRef) private readonly module: ModuleRef,
  ) {}

  /** @throws RateLimitConfigError if it is too late, the rule is applied already, or the framework is another one */
  limit(app: INestApplication, name: string, exclude: readonly string[]): void {
    const path = `limitBeforeRouting("${name}")`;
    if (this.before.isStarted)
      rejectConfig(`${path}: called after app.listen() or app.init(); call it before`);
    if (this.before.rules.has(name)) rejectConfig(`${path}: called twice for one rule`);
    const rule = this.before.add(name, exclude);
    this.install(app, (request, response, next) => {
      if (this.requests) this.requests.enter(name, rule, request, response, next);
      else next(new InternalServerErrorException());
    });
    const { appOptions } = app as unknown as { readonly appOptions?: { readonly cors?: unknown } };
    if (appOptions?.cors) this.beforeCors ??= name;
  }

  /** Only applications that call `limitBeforeRouting` load what it needs. */
  async onModuleInit(): Promise<void> {
    if (this.before.rules.size === 0) return;
    // First: Jest cannot load a module that two others import at once, and the rules load this one as well.
    const { warnOfLateCors } = await import('./checks/before-routing-checks.js');
    const { EarlyRequests } = await import('./early-requests.js');
    const requests = await this.module.create(EarlyRequests);
    requests.handler = [RoutingLimiter, limitBeforeRouting as () => void];
    this.requests = requests;
    if (this.beforeCors !== undefined) warnOfLateCors(this.beforeCors, this.warnings);
  }

  private install(app: INestApplication, middleware: Middleware): void {
    const adapter = app.getHttpAdapter();
    const type = adapter.getType();
    if (type === 'express') {
      app.use(middleware);
      return;
    }
    if (type !== 'fastify') rejectValue('limitBeforeRouting()', type, 'an application on Express or Fastify');
    const plugin = (instance: Fastify, _options: object, done: Next): void => {
      instance.addHook('onRequest', middleware);
      done();
    };
    (adapter.getInstance() as Fastify).register(Object.assign(plugin, ON_ROOT));
  }
}

/**
 * Applies a rule of `onDemand` to every HTTP request before it is routed and before its body is parsed: also to requests
 * of unknown paths and with malformed bodies, which no guard sees. Call it before `app.listen()`. What is added to the
 * framework before it is not limited.
 *
 * @param rule name of a rule in `onDemand`, whose `by` needs no user
 * @param exclude whole paths without the query that are not limited, compared exactly; preflights of CORS never are
 * @throws RateLimitConfigError if an argument is invalid, RateLimitModule is not imported, or it is called too late
 * @example
 * const app = await NestFactory.create(AppModule);
 * app.enableCors();
 * limitBeforeRouting(app, 'flood', { exclude: ['/health'] });
 */
export function limitBeforeRouting(
  app: INestApplication,
  rule: string,
  options?: { readonly exclude?: readonly string[] },
): void {
  if (typeof rule !== 'string') rejectValue('limitBeforeRouting()', rule, 'the name of a rule in `onDemand`');
  const { exclude = [] } = readOptions('limitBeforeRouting', options, { exclude: PATHS });
  limiterOf(app).limit(app, rule, exclude);
}

function isPath(path: unknown): boolean {
  if (typeof path !== 'string' || !path.startsWith('/') || path.includes('//')) return false;
  return new URL(path, 'http://localhost').href === `http://localhost${path}` && !/[?#]/.test(path);
}

/** Finds the module without `app.get()`, which ends the process if it is missing. */
function limiterOf(app: INestApplication): RoutingLimiter {
  for (const { providers } of app.get(ModulesContainer, { strict: false }).values()) {
    const found = providers.get(ROUTING_LIMITER);
    if (found) return found.instance as RoutingLimiter;
  }
  rejectConfig(
    'limitBeforeRouting(): RateLimitModule is not imported; add RateLimitModule.forRoot() to the imports of the root module',
  );
}
