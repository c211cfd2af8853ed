import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type INestApplication } from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { MaybePromise } from '../contracts/thenable.js';
import { afterResponse } from '../http/response-end.js';
import { hasBody, leaveUnread } from '../http/unread-body.js';
import type { HttpRequest } from '../http/subject.js';
import { warnOfLateCors, warnOfUnexposed } from './checks/before-routing-checks.js';
import { Admission, type Deny } from './request/admission.js';
import { BeforeRouting, rawRequest, type EarlyRule } from './request/before-routing.js';
import { HttpExchange } from './request/exchange.js';
import { Responder } from './request/responder.js';
import { Warnings } from './warnings.js';

/** Injection token of what applies rules before routing. */
export const ROUTING_LIMITER = Symbol.for('nestjs-redis-rate-limit:routing-limiter');

type Next = (error?: unknown) => void;

/** A request of Express or Fastify. */
interface EarlyRequest extends HttpRequest {
  readonly method: string;
  /** The path and the query as the client sent them. */
  readonly originalUrl: string;
}

type Middleware = (request: EarlyRequest, response: object, next: Next) => void;

/** The parts of a Fastify instance that are used. */
interface Fastify {
  register(plugin: (instance: Fastify, options: object, done: Next) => void): unknown;
  addHook(name: 'onRequest', hook: Middleware): unknown;
}

/** Without it, a plugin of Fastify covers its own routes only, which are none. */
const ON_ROOT = { [Symbol.for('skip-override')]: true };

/** Applies rules of `onDemand` before routing. */
@Injectable()
export class RoutingLimiter {
  constructor(
    @Inject(BeforeRouting) private readonly before: BeforeRouting,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /** @throws RateLimitConfigError if it is too late, the rule is applied already, or the framework is another one */
  limit(app: INestApplication, name: string, exclude: readonly string[]): void {
    const path = `limitBeforeRouting("${name}")`;
    if (this.before.isStarted)
      throw new RateLimitConfigError([`${path}: called after app.listen() or app.init(); call it before`]);
    if (this.before.rules.has(name)) throw new RateLimitConfigError([`${path}: called twice for one rule`]);
    const rule = this.before.add(name, exclude);
    this.install(app, (request, response, next) => this.enter(name, rule, request, response, next));
    const { appOptions } = app as unknown as { readonly appOptions?: { readonly cors?: unknown } };
    warnOfLateCors(appOptions?.cors, name, this.warnings);
  }

  private install(app: INestApplication, middleware: Middleware): void {
    const adapter = app.getHttpAdapter();
    const type = adapter.getType();
    if (type === 'express') {
      app.use(middleware);
      return;
    }
    if (type !== 'fastify')
      throw new RateLimitConfigError([
        problem('limitBeforeRouting()', type, 'an application on Express or Fastify'),
      ]);
    const plugin = (instance: Fastify, _options: object, done: Next): void => {
      instance.addHook('onRequest', middleware);
      done();
    };
    (adapter.getInstance() as Fastify).register(Object.assign(plugin, ON_ROOT));
  }

  private enter(name: string, rule: EarlyRule, request: EarlyRequest, response: object, next: Next): void {
    if (this.before.hasCharged(request, name) || isExcluded(rule, request)) {
      next();
      return;
    }
    if (request.headers?.['origin'] !== undefined) this.seeResponse(response);
    const exchange = new HttpExchange(
      new ExecutionContextHost([request, response, next], RoutingLimiter, limitBeforeRouting),
    );
    const pass = (): void => {
      if (exchange.decision) this.before.charge(request, exchange.decision);
      next();
    };
    const refuse = (error: unknown): void => {
      this.leaveUnread(request, response);
      next(error);
    };
    const entered = this.admit(rule, exchange, refuse);
    if (entered instanceof Promise) entered.then(pass, refuse);
    else if (entered) pass();
  }

  /** Functions of rules may throw. */
  private admit(rule: EarlyRule, exchange: HttpExchange, refuse: Next): MaybePromise<boolean> {
    try {
      return this.admission.enter(rule.route, exchange, this.deny);
    } catch (error) {
      refuse(error);
      return false;
    }
  }

  private leaveUnread(request: EarlyRequest, response: object): void {
    const { httpAdapter } = this.host;
    leaveUnread(rawRequest(request) as IncomingMessage, (name, value) => {
      httpAdapter.setHeader(response, name, value);
    });
  }

  private readonly deny: Deny = ({ context }, decision, detail) =>
    this.responder.deny(context, decision, detail);

  private seeResponse(response: object): void {
    if (!this.warnings.isPending('RL_HEADERS_UNEXPOSED')) return;
    const raw = rawRequest(response) as Parameters<typeof warnOfUnexposed>[0];
    afterResponse(response, () => warnOfUnexposed(raw, this.warnings));
  }
}

/** Whether a rule does not count a request: its whole path is excluded, exactly, or it is a preflight of CORS. */
function isExcluded({ exclude }: EarlyRule, request: EarlyRequest): boolean {
  const { originalUrl: url, method, headers } = request;
  const query = url.indexOf('?');
  if (exclude.size > 0 && exclude.has(query < 0 ? url : url.slice(0, query))) return true;
  if (method !== 'OPTIONS' || !headers?.['origin']) return false;
  return (
    Boolean(headers['access-control-request-method']) && !hasBody(rawRequest(request) as IncomingMessage)
  );
}

/**
 * Applies a rule of `onDemand` to every HTTP request before it is routed and before its body is parsed: also to requests
 * of unknown paths and with broken bodies, which no guard sees. Call it before `app.listen()`. What is added to the
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
  { exclude = [] }: { readonly exclude?: readonly string[] } = {},
): void {
  const paths: readonly unknown[] = Array.isArray(exclude) ? exclude : [exclude];
  const wrong = paths.find((path) => !isPath(path));
  if (wrong !== undefined)
    throw new RateLimitConfigError([
      problem(
        'limitBeforeRouting().exclude',
        wrong,
        'a list of normalized paths such as "/health", without a query',
      ),
    ]);
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
  throw new RateLimitConfigError([
    'limitBeforeRouting(): RateLimitModule is not imported; add RateLimitModule.forRoot() to the imports of the root module',
  ]);
}
