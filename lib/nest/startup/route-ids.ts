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
    if (rules.some(({ scope }) => scope !== 'shared')) this.checkUnique(id, handler);
    return id;
  }

  private checkUnique(id: string, handler: IdentifiedHandler): void {
    const first = this.handlers.get(id);
    this.handlers.set(id, first ?? handler);
    if (first === undefined || (first.type === handler.type && first.handler === handler.handler)) return;
    this.problems.add(
      `routes ${first.owner} and ${handler.owner}: both have the id "${id}", so they would share counters; write ` +
        "@RateLimitId('...') with another id on one of them",
    );
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
