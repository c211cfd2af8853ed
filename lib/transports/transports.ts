import type { ExecutionContext } from '@nestjs/common';
import type { Exchange } from '../nest/request/exchange.js';
import { graphqlExchange } from './graphql.js';
import type { Handshakes } from './handshakes.js';
import { CallExchange } from './provider.js';
import { RpcExchange } from './rpc.js';
import { wsExchange } from './ws.js';

/** Returns a request outside HTTP, in the transport that the type of Nest's context names. */
export function exchangeOf(context: ExecutionContext, handshakes: Handshakes): Exchange {
  switch (context.getType<string>()) {
    case 'graphql':
      return graphqlExchange(context, handshakes);
    case 'ws':
      return wsExchange(context, handshakes);
    case 'rpc':
      return new RpcExchange(context);
    default:
      return new CallExchange(context);
  }
}
