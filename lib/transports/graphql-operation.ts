import { compareStrictness, type Decision, type RuleDecision } from '../contracts/decision.js';
import type { Header } from '../http/headers.js';
import { DecidedHit } from '../limiter/decision.js';
import type { OnApplicationBootstrap } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

/** The decisions on the fields of one GraphQL operation or batch, reported as one. */
export class Operation {
  private decision: Decision | undefined;
  /** Whether each denial is one of limits that could not be checked. */
  private isUnavailable = true;
  private hasData = false;
  /** The status that the response got from a request without data. */
  private status: number | undefined;
  /** The headers of all decisions. */
  headers: readonly Header[] = [];
  /** Aborts when the client has ended the operation; absent until a field waits. */
  gone: AbortSignal | undefined;

  /** Returns the headers of this decision and those before it. */
  add(decision: Decision, format: (decision: Decision) => readonly Header[]): readonly Header[] {
    if (!decision.allowed) this.isUnavailable &&= decision.fallback === 'deny';
    this.decision = this.decision ? merged(this.decision, decision) : decision;
    return (this.headers = format(this.decision));
  }

  /** Adds the data of a request: a batch has several. Returns the status of their response; `undefined` to keep it. */
  respond(data: unknown): number | undefined {
    this.hasData ||= hasData(data);
    if (this.decision?.allowed === false && !this.hasData)
      return (this.status = this.isUnavailable ? 503 : 429);
    return this.status && 200;
  }
}

interface OperationContext {
  readonly reply?: { readonly request?: object };
}

const operations = new WeakMap<object, Operation>();

/**
 * Returns the decisions on the operation with this context.
 *
 * @param shared what the operations of a batch share, which have a context each: the response of Apollo, the request of
 *   Mercurius
 */
export function operationOf(context: OperationContext, shared: object = requestOf(context)): Operation {
  const operation = operations.get(context) ?? operations.get(shared) ?? new Operation();
  operations.set(context, operation);
  operations.set(shared, operation);
  return operation;
}

/** A subscription has the GET of its connection, which others share. */
function requestOf(context: OperationContext): object {
  const request: { readonly method?: unknown } | undefined = context.reply?.request;
  return request?.method === 'POST' ? request : context;
}

/** Whether a root field has data. */
function hasData(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.values(data).some((value) => value !== null);
}

/** Returns one decision with the strictest result of each rule. */
function merged(one: Decision, other: Decision): Decision {
  const rules = new Map<string, RuleDecision>();
  for (const result of [...one.decisions, ...other.decisions]) {
    const known = rules.get(result.rule);
    if (!known || compareStrictness(result, known) < 0) rules.set(result.rule, result);
  }
  return new DecidedHit([...rules.values()], one.source);
}

/** The part of Apollo's request that is read and changed when its response is complete. */
interface ApolloRequest {
  readonly contextValue: OperationContext;
  readonly response: {
    readonly http: { status?: number; readonly headers: Map<string, string> };
    readonly body: { readonly kind: string; readonly singleResult?: { readonly data?: unknown } };
  };
}

interface MercuriusHook {
  addHook(
    name: 'onResolution',
    hook: (execution: { readonly data?: unknown }, context: MercuriusContext) => Promise<void>,
  ): void;
}

interface MercuriusContext extends OperationContext {
  readonly reply?: OperationContext['reply'] & { code?(status: number): unknown };
}

/**
 * Completes the responses to GraphQL operations: the status 429 if a field was denied and no root field has data, and
 * the headers where the context of Apollo has no response. A plugin of Apollo and a hook of Mercurius.
 */
export class GraphqlResponse implements OnApplicationBootstrap {
  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter?.getType() !== 'fastify') return;
    const { graphql } = httpAdapter.getInstance<{ graphql?: Partial<MercuriusHook> }>();
    graphql?.addHook?.('onResolution', async ({ data }, context) => {
      const status = operationOf(context).respond(data);
      if (status !== undefined) context.reply?.code?.(status);
    });
  }

  /** Called by Apollo for each operation. */
  async requestDidStart({ contextValue, response: { http } }: ApolloRequest): Promise<object> {
    const operation = operationOf(contextValue, http);
    return {
      willSendResponse: async ({ response }: ApolloRequest) => {
        for (const [name, value] of operation.headers) response.http.headers.set(name.toLowerCase(), value);
        await Promise.resolve(); // the driver of Nest sets 200 in this turn
        const { kind, singleResult } = response.body;
        const status = kind === 'single' ? operation.respond(singleResult?.data) : undefined;
        if (status !== undefined) response.http.status = status;
      },
    };
  }
}

// What the decorator @Plugin of @nestjs/apollo sets.
Reflect.defineMetadata('graphql:plugin', true, GraphqlResponse);
