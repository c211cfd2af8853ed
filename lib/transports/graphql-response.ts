import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { hasData, operationOf } from './graphql-operation.js';

/** The part of Apollo's request that is read and changed when its response is complete. */
interface ApolloRequest {
  readonly contextValue: object;
  readonly response: {
    readonly http: { status?: number; readonly headers: Map<string, string> };
    readonly body: { readonly kind: string; readonly singleResult?: { readonly data?: unknown } };
  };
}

interface MercuriusHook {
  addHook(
    name: 'onResolution',
    hook: (execution: Execution, context: MercuriusContext) => Promise<void>,
  ): void;
}

interface Execution {
  readonly data?: unknown;
}

interface MercuriusContext {
  readonly reply?: { code?(status: number): unknown };
}

/**
 * Completes the responses to GraphQL operations: the status 429 if a field was denied and no root field has data, and
 * the headers where the context of Apollo has no response. A plugin of Apollo and a hook of Mercurius.
 */
@Injectable()
export class GraphqlResponse implements OnApplicationBootstrap {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter?.getType() !== 'fastify') return;
    const { graphql } = httpAdapter.getInstance<{ graphql?: Partial<MercuriusHook> }>();
    graphql?.addHook?.('onResolution', async ({ data }, context) => {
      const { status } = operationOf(context);
      if (status !== undefined && !hasData(data)) context.reply?.code?.(status);
    });
  }

  /** Called by Apollo for each operation. */
  async requestDidStart(): Promise<object> {
    return {
      willSendResponse: async ({ contextValue, response }: ApolloRequest) => {
        const { status, headers } = operationOf(contextValue);
        for (const [name, value] of headers) response.http.headers.set(name.toLowerCase(), value);
        await Promise.resolve(); // the driver of Nest sets 200 in this turn
        const { kind, singleResult } = response.body;
        if (status !== undefined && kind === 'single' && !hasData(singleResult?.data)) {
          response.http.status = status;
        }
      },
    };
  }
}

// What the decorator @Plugin of @nestjs/apollo sets.
Reflect.defineMetadata('graphql:plugin', true, GraphqlResponse);
