import { Inject, Injectable, type ExecutionContext } from '@nestjs/common';
import type { Exchange } from '../nest/request/exchange.js';
import { graphqlExchange } from './graphql.js';
import { Handshakes } from './handshakes.js';
import { httpExchange } from './http.js';
import { OtherExchange } from './other.js';
import { RpcExchange } from './rpc.js';
import { wsExchange } from './ws.js';

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
