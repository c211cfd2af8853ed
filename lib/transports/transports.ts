import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { HttpRequest } from '../http/subject.js';
import { Exchange } from '../nest/request/exchange.js';
import { graphqlExchange } from './graphql.js';
import { Handshakes } from './handshakes.js';
import { OtherExchange } from './provider.js';
import { RpcExchange } from './rpc.js';
import { wsExchange } from './ws.js';

/** A request and its response, on Express or Fastify. The response has the headers, and its end settles charges. */
class HttpExchange extends Exchange {
  readonly transport = 'http';

  constructor(
    readonly context: ExecutionContext,
    readonly request: HttpRequest,
    readonly response: unknown,
  ) {
    super();
  }
}

export function httpExchange(context: ExecutionContext): Exchange {
  return new HttpExchange(context, context.getArgByIndex<HttpRequest>(0), context.getArgByIndex<unknown>(1));
}

/** Finds the transport of a request by the type of Nest's context. */
@Injectable()
export class Transports {
  constructor(@Inject(Handshakes) private readonly handshakes: Handshakes) {}

  exchangeOf(context: ExecutionContext): Exchange {
    switch (context.getType<string>()) {
      case 'http':
        return httpExchange(context);
      case 'graphql':
        return graphqlExchange(context, this.handshakes);
      case 'ws':
        return wsExchange(context, this.handshakes);
      case 'rpc':
        return new RpcExchange(context);
      default:
        return new OtherExchange(context);
    }
  }
}
