import type { Logger, Type } from '@nestjs/common';
import type { ModulesContainer, SerializedGraph } from '@nestjs/core';
import { extensionOf } from '../request/rate-limit-extension.js';
import type { RouteLimit } from '../request/route-limit.js';
import type { IdentifiedHandler } from './route-ids.js';

/** A guard of a class, as the nodes of Nest's graph list it. */
interface Enhancer {
  readonly name: string;
  readonly methodKey: string;
  readonly subtype: 'guard';
}

interface Enhancers {
  enhancers?: Enhancer[];
}

/** Reports the rules of each route: a line at debug level, and an entry in the graph that Nest DevTools shows. */
export class RuleReport {
  private nodes: ReadonlyMap<Type, readonly Enhancers[]> | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly modules: ModulesContainer,
    private readonly graph: SerializedGraph,
  ) {}

  add({ type, method, owner }: IdentifiedHandler, id: string, limit: RouteLimit): void {
    const text = textOf(limit);
    this.logger.debug(`${id === owner ? id : `${id} (${owner})`}: ${text}`);
    for (const node of this.nodesOf(type)) {
      (node.enhancers ??= []).push({ name: `RateLimit ${text}`, methodKey: method, subtype: 'guard' });
    }
  }

  /** The graph has nodes only in an application with `snapshot: true`. */
  private nodesOf(type: Type): readonly Enhancers[] {
    this.nodes ??= this.allNodes();
    return this.nodes.get(type) ?? [];
  }

  private allNodes(): Map<Type, Enhancers[]> {
    const nodes = new Map<Type, Enhancers[]>();
    for (const { controllers, providers } of this.modules.values()) {
      for (const { id, metatype } of [...controllers.values(), ...providers.values()]) {
        const node = this.graph.getNodeById(id)?.metadata as Enhancers | undefined;
        if (node) nodes.set(metatype as Type, [...(nodes.get(metatype as Type) ?? []), node]);
      }
    }
    return nodes;
  }
}

/** Returns a rule as text: `"default" 100 per 1m, sliding-window-log, by ip`. */
function textOf(limit: RouteLimit): string {
  const { name, limit: permits, window, algorithm, by, scope } = extensionOf(limit);
  return [
    `"${name}" ${permits}${window === undefined ? '' : ` per ${window}`}`,
    algorithm,
    `by ${[by].flat().join(' and ')}`,
    ...(scope === 'shared' ? ['shared'] : []),
    ...(limit.isEnforced ? [] : ['not enforced']),
  ].join(', ');
}
