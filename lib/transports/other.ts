import type { ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../http/subject.js';
import { Exchange, WITHOUT_CLIENT } from '../nest/request/exchange.js';

/** A call of a library, such as a queue consumer or a bot: no client address, no response. */
export class OtherExchange extends Exchange {
  readonly transport = 'other';
  readonly request: HttpRequest = WITHOUT_CLIENT;
  readonly response = undefined;

  constructor(readonly context: ExecutionContext) {
    super();
  }
}
