import { RequestMethod, type Type } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { entryOf } from '../../contracts/entry-of.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import { ID, ID_OPTION } from '../rate-limit.decorator.js';
import type { TransportLoader } from '../request/transport-loader.js';
import type { HandlerMethod } from '../request/routes.js';
import type { RuleFields } from '../rules/rule-layers.js';
import { isCall } from './handlers.js';

type Host = string | RegExp;

type Version = string | symbol;

type Paths = string | readonly string[] | undefined;

/** The path of a module of `RouterModule`. */
const MODULE_PATH = '__module_path__';

function pathOf(target: object): string {
  const paths = Reflect.getMetadata('path', target) as Paths;
  return (typeof paths === 'string' ? paths : paths?.[0]) ?? '';
}

function joined(paths: readonly string[]): string {
  const segments = paths.flatMap((path) => path.split('/')).filter((segment) => segment !== '');
  return `/${segments.join('/')}`;
}

/** Returns the id of a method, whatever its type: its own, or the one of its class with the method's name. */
function idOn({ type, name, handler }: HandlerMethod): unknown {
  const own: unknown =
    Reflect.getMetadata(ID, handler) ?? Reflect.getMetadata(ID, type.prototype as object, name);
  const ofClass: unknown = Reflect.getOwnMetadata(ID, type);
  return own ?? (typeof ofClass === 'string' && ofClass !== '' ? `${ofClass}.${name}` : ofClass);
}

/**
 * The ids of routes in keys: the id of `@RateLimitId`, or the transport's address. Names of classes are none, because
 * minifiers shorten them, so that different classes of two builds would share counters.
 */
export class RouteIds {
  /** The first handler of each rule and id: another one would have the same counters. */
  private readonly handlers = new Map<string, HandlerMethod>();

  constructor(
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
    private readonly problems: { add(problem: string): unknown },
    private readonly transports: TransportLoader,
  ) {}

  /**
   * Returns the id of a handler. A problem is recorded if it is invalid, or if another handler has the same.
   *
   * @param rules those that count its requests
   */
  of(method: HandlerMethod, rules: readonly RuleFields[]): string {
    const { owner } = method;
    const given = idOn(method);
    if (given !== undefined && !ID_OPTION.accepts(given)) {
      this.problems.add(problem(`@RateLimitId on ${owner}`, given, ID_OPTION.allowed));
      return owner;
    }
    const id = (given as string | undefined) ?? this.addressOf(method);
    // Shared rules have no id in their keys.
    const names = rules.filter(({ scope }) => scope !== 'shared').map(({ name }) => name as string);
    const first = names.map((name) => entryOf(this.handlers, `${name} ${id}`, () => method));
    const other = first.find(({ type, handler }) => type !== method.type || handler !== method.handler);
    if (other !== undefined) {
      this.problems.add(
        `${isCall(method.kind) ? 'methods' : 'routes'} ${other.owner} and ${owner}: both have the id "${id}", so they would ` +
          "share counters; write @RateLimitId('...') with another id on one of them",
      );
    }
    return id;
  }

  private addressOf({ type, name, handler, kind }: HandlerMethod): string {
    if (kind === 'http') return this.httpAddress(type, handler);
    if (isCall(kind)) return `${kind === 'none' ? 'call' : 'other'} ${name}`;
    return this.transports.current!.addressOf(kind, type, handler, name);
  }

  /**
   * Returns the address of an HTTP handler: verb, path template, version and host, such as `GET /api/orders/:id version=1`.
   * Of several paths it is the first, so that an alias does not start new counters.
   */
  private httpAddress(type: Type, handler: object): string {
    const verb = (Reflect.getMetadata('method', handler) as RequestMethod | undefined) ?? RequestMethod.GET;
    const path = joined([this.modulePath(type), pathOf(type), pathOf(handler)]);
    const prefix = this.isExcluded(path, verb) ? '' : this.config.getGlobalPrefix();
    const parts = [RequestMethod[verb], joined([prefix, path])];
    const version = this.versionOf(type, handler);
    if (version !== undefined) parts.push(`version=${version}`);
    const host = Reflect.getMetadata('host', type) as Host | Host[] | undefined;
    if (host !== undefined) parts.push(`host=${[host].flat().map(String).join(',')}`);
    const constraints = Reflect.getMetadata('__fastify_route_constraints__', handler) as object | undefined;
    if (constraints !== undefined) parts.push(JSON.stringify(constraints));
    return parts.join(' ');
  }

  private modulePath(type: Type): string {
    const module = [...this.modules.values()].find(({ controllers }) => controllers.has(type));
    if (!module) return '';
    const keys = [MODULE_PATH + this.modules.applicationId, MODULE_PATH];
    const paths = keys.map((key) => Reflect.getMetadata(key, module.metatype) as string | undefined);
    return paths.find((path) => path !== undefined) ?? '';
  }

  private isExcluded(path: string, verb: RequestMethod): boolean {
    const { exclude = [] } = this.config.getGlobalPrefixOptions();
    return exclude.some(
      ({ pathRegex, requestMethod }) =>
        [RequestMethod.ALL, -1, verb].includes(requestMethod) && pathRegex.test(path),
    );
  }

  /** Versions count only if the application has enabled them. */
  private versionOf(type: Type, handler: object): string | undefined {
    const versioning = this.config.getVersioning();
    if (!versioning) return undefined;
    const [ofHandler, ofType] = [handler, type].map(
      (target) => Reflect.getMetadata('__version__', target) as Version | Version[] | undefined,
    );
    const version = ofHandler ?? ofType ?? versioning.defaultVersion;
    if (version === undefined) return undefined;
    // The neutral version is a symbol.
    return [version]
      .flat()
      .map((each) => (typeof each === 'symbol' ? 'neutral' : each))
      .join(',');
  }
}
