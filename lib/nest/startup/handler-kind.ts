import type { Type } from '@nestjs/common';

/**
 * The kind of a handler: an HTTP route, a GraphQL query, mutation or subscription, a field resolver, a message of a
 * WebSocket gateway, its connections, a pattern of a microservice, a handler of an unknown library, or no handler (`'none'`).
 */
export type HandlerKind =
  'http' | 'graphql' | 'field' | 'gateway' | 'connection' | 'pattern' | 'unknown' | 'none';

/** Metadata that does not make a method a handler: of TypeScript, guards, pipes, responses and Swagger. */
const NO_HANDLER =
  /^(design:|__(guards|interceptors|pipes|exceptionFilters|routeArguments)__|__(headers|httpCode|redirect|renderTemplate)__|swagger\/)/;

/** Metadata of a resolver of a field, and of one of the references of a gateway to an object (federation). */
const FIELD_METADATA = ['graphql:resolve_property', 'graphql:resolve_reference'];

export function handlerKind(type: Type, name: string, isController: boolean): HandlerKind {
  const method = (type.prototype as Record<string, object>)[name]!;
  if (Reflect.hasMetadata('microservices:pattern', method)) return 'pattern';
  if (isController && Reflect.hasMetadata('path', method)) return 'http';
  if (Reflect.hasMetadata('websockets:is_gateway', type)) {
    if (Reflect.hasMetadata('websockets:message_mapping', method)) return 'gateway';
    return name === 'handleConnection' ? 'connection' : 'none';
  }
  if (FIELD_METADATA.some((key) => Reflect.hasMetadata(key, method))) return 'field';
  if (Reflect.hasMetadata('graphql:resolver_type', method)) return 'graphql';
  const keys = [
    ...(Reflect.getMetadataKeys(method) as unknown[]),
    ...(Reflect.getMetadataKeys(type.prototype as object, name) as unknown[]),
  ];
  return keys.some((key) => typeof key === 'string' && !NO_HANDLER.test(key)) ? 'unknown' : 'none';
}
