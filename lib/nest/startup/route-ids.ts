import type { Type } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { problem } from '../../contracts/rate-limit-config.error.js';
import { ID_OPTION, idOn } from '../rate-limit-id.decorator.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { HandlerKind } from './handler-kind.js';
import { httpAddress } from './http-address.js';
import { gatewayAddress, graphqlAddress, messageAddress, patternAddress } from './message-addresses.js';

/** A handler, as ids see it. */
export interface IdentifiedHandler {
  readonly type: Type;
  readonly method: string;
  readonly handler: object;
  readonly kind: HandlerKind;
  /** Its name in messages, such as `OrdersController.list`. */
  readonly owner: string;
}

/**
 * The ids of routes in keys: the id of `@RateLimitId`, or the transport's address. Names of classes are none, because
 * minifiers shorten them, so that different classes of two builds would share counters.
 */
export class RouteIds {
  private readonly handlers = new Map<string, IdentifiedHandler>();

  constructor(
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
    private readonly problems: { add(problem: string): unknown },
  ) {}

  /**
   * Returns the id of a handler. A problem is recorded if it is invalid, or if another handler has the same.
   *
   * @param rules those that count its requests
   */
  of(handler: IdentifiedHandler, rules: readonly RuleFields[]): string {
    const { type, method, owner } = handler;
    const given = idOn(type, method, handler.handler);
    if (given !== undefined && !ID_OPTION.accepts(given)) {
      this.problems.add(problem(`@RateLimitId on ${owner}`, given, ID_OPTION.allowed));
      return owner;
    }
    const id = (given as string | undefined) ?? this.addressOf(handler);
    // Shared rules have no id in their keys.
    const names = rules.filter(({ scope }) => scope !== 'shared').map(({ name }) => name as string);
    const other = names.map((name) => this.otherWith(id, name, handler)).find((each) => each !== undefined);
    if (other !== undefined) {
      this.problems.add(
        `${isRoute(handler) ? 'routes' : 'methods'} ${other.owner} and ${owner}: both have the id "${id}", so they would ` +
          "share counters; write @RateLimitId('...') with another id on one of them",
      );
    }
    return id;
  }

  /** Returns another handler whose rule of a name would have the same counters. */
  private otherWith(id: string, name: string, handler: IdentifiedHandler): IdentifiedHandler | undefined {
    const key = `${name} ${id}`;
    const first = this.handlers.get(key);
    this.handlers.set(key, first ?? handler);
    return first?.type === handler.type && first.handler === handler.handler ? undefined : first;
  }

  private addressOf({ type, method, handler, kind }: IdentifiedHandler): string {
    switch (kind) {
      case 'http':
        return httpAddress(type, handler, this.config, this.modules);
      case 'graphql':
      case 'field':
        return graphqlAddress(type, handler, method);
      case 'gateway':
        return messageAddress(type, handler);
      case 'connection':
        return `connect ${gatewayAddress(type)}`;
      case 'pattern':
        return patternAddress(handler);
      case 'unknown':
        return `other ${method}`;
      case 'none':
        return `call ${method}`;
    }
  }
}

/** Whether requests, messages or events have the address of a handler. */
function isRoute({ kind }: IdentifiedHandler): boolean {
  return kind !== 'none' && kind !== 'unknown';
}
