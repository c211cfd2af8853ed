import type { Type } from '@nestjs/common';

/** Returns the address of a handler outside HTTP, as the id of its route. */
export function addressOf(kind: string, type: Type, handler: object, method: string): string {
  if (kind === 'gateway') return `${gatewayAddress(type)} ${textOf(Reflect.getMetadata('message', handler))}`;
  if (kind === 'connection') return `connect ${gatewayAddress(type)}`;
  return kind === 'pattern' ? patternAddress(handler) : graphqlAddress(type, handler, method);
}

/** In the metadata of a handler by @EventPattern. */
const EVENT = 2;

/** Returns the address of a GraphQL handler, such as `Query.me`, or `User.posts` for a field. */
function graphqlAddress(type: Type, handler: object, method: string): string {
  const parent = (Reflect.getMetadata('graphql:resolver_type', handler) ??
    Reflect.getMetadata('graphql:resolver_type', type)) as string | undefined;
  const name = Reflect.getMetadata('graphql:resolver_name', handler) as string | undefined;
  return [...(parent === undefined ? [] : [parent]), name ?? method].join('.');
}

/** Returns the address of a gateway: port, path and namespace, such as `ws /chat`. */
function gatewayAddress(type: Type): string {
  const port = Reflect.getMetadata('port', type) as number | undefined;
  const { namespace = '', path } = (Reflect.getMetadata('websockets:gateway_options', type) ?? {}) as {
    readonly namespace?: string | RegExp;
    readonly path?: string;
  };
  const parts = [
    port ? `ws:${port}` : 'ws',
    ...(path === undefined ? [] : [`path=${path}`]),
    `/${String(namespace).replace(/^\//, '')}`,
  ];
  return parts.join(' ');
}

/** Returns the address of a microservice's handler: its kind, its transport and its first pattern, such as `message sum`. */
function patternAddress(handler: object): string {
  const isEvent = Reflect.getMetadata('microservices:handler_type', handler) === EVENT;
  const transport = Reflect.getMetadata('microservices:transport', handler) as number | symbol | undefined;
  const patterns = Reflect.getMetadata('microservices:pattern', handler) as readonly unknown[];
  const kind = isEvent ? 'event' : 'message';
  const via = transport === undefined ? '' : `:${transport.toString()}`;
  return `${kind}${via} ${textOf(patterns[0])}`;
}

/** The keys of objects are sorted, as Nest compares patterns. */
function textOf(pattern: unknown): string {
  if (typeof pattern !== 'object' || pattern === null) return String(pattern);
  return JSON.stringify(pattern, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
