import type { Type } from '@nestjs/common';
import { namedOn, type RuleFields } from '../rules/rule-layers.js';
import type { TransportName } from '../rules/transport-names.js';
import type { HandlerKind } from './handler-kind.js';

const TRANSPORTS: Readonly<Record<Exclude<HandlerKind, 'none'>, TransportName>> = {
  http: 'http',
  graphql: 'graphql',
  field: 'graphql',
  gateway: 'ws',
  connection: 'ws',
  pattern: 'rpc',
  unknown: 'other',
};

/**
 * Whether requests of a handler are counted by a rule that it has.
 *
 * @param ruled the transports whose handlers all have the module's rules
 */
export function isApplied(
  rule: RuleFields,
  { type, kind }: { readonly type: Type; readonly kind: HandlerKind },
  ruled: ReadonlySet<TransportName>,
): boolean {
  const named = namedOn(rule);
  // Of the methods that are no handlers, those of providers with a decorator are limited.
  if (kind === 'none') return named === 'handler' && !isController(type);
  return named !== 'nowhere' || ruled.has(TRANSPORTS[kind]);
}

export function isController(type: Type): boolean {
  return Reflect.hasMetadata('__controller__', type);
}
