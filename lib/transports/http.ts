import type { ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../http/subject.js';
import { Exchange } from '../nest/request/exchange.js';

/** A request and its response, on Express or Fastify. The response has the headers, and its end settles charges. */
export class HttpExchange extends Exchange {
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
