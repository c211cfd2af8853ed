import { RequestMethod, type Type } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';

type Host = string | RegExp;
type Version = string | symbol;
type Paths = string | readonly string[] | undefined;

/** The path of a module of `RouterModule`. */
const MODULE_PATH = '__module_path__';

/**
 * Returns the address of an HTTP handler: verb, path template, version and host, such as `GET /api/orders/:id version=1`.
 * Of several paths it is the first, so that an alias does not start new counters.
 */
export function httpAddress(
  type: Type,
  handler: object,
  config: ApplicationConfig,
  modules: ModulesContainer,
): string {
  const verb = (Reflect.getMetadata('method', handler) as RequestMethod | undefined) ?? RequestMethod.GET;
  const paths = [modulePath(type, modules), pathOf(type), pathOf(handler)];
  const path = joined(paths);
  const prefix = isExcluded(path, verb, config) ? '' : config.getGlobalPrefix();
  const parts = [RequestMethod[verb], joined([prefix, path])];
  const version = versionOf(type, handler, config);
  if (version !== undefined) parts.push(`version=${version}`);
  const host = Reflect.getMetadata('host', type) as Host | Host[] | undefined;
  if (host !== undefined) parts.push(`host=${[host].flat().map(String).join(',')}`);
  const constraints = Reflect.getMetadata('__fastify_route_constraints__', handler) as object | undefined;
  if (constraints !== undefined) parts.push(JSON.stringify(constraints));
  return parts.join(' ');
}

function pathOf(target: object): string {
  const paths = Reflect.getMetadata('path', target) as Paths;
  return (typeof paths === 'string' ? paths : paths?.[0]) ?? '';
}

function modulePath(type: Type, modules: ModulesContainer): string {
  const module = [...modules.values()].find(({ controllers }) => controllers.has(type));
  if (!module) return '';
  const keys = [MODULE_PATH + modules.applicationId, MODULE_PATH];
  const paths = keys.map((key) => Reflect.getMetadata(key, module.metatype) as string | undefined);
  return paths.find((path) => path !== undefined) ?? '';
}

function joined(paths: readonly string[]): string {
  const segments = paths.flatMap((path) => path.split('/')).filter((segment) => segment !== '');
  return `/${segments.join('/')}`;
}

function isExcluded(path: string, verb: RequestMethod, config: ApplicationConfig): boolean {
  const { exclude = [] } = config.getGlobalPrefixOptions();
  return exclude.some(
    ({ pathRegex, requestMethod }) =>
      [RequestMethod.ALL, -1, verb].includes(requestMethod) && pathRegex.test(path),
  );
}

/** Versions count only if the application has enabled them. */
function versionOf(type: Type, handler: object, config: ApplicationConfig): string | undefined {
  const versioning = config.getVersioning();
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
