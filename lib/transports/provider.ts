import type { ExecutionContext, Type } from '@nestjs/common';
import { Exchange, WITHOUT_CLIENT } from '../nest/request/exchange.js';

/** The context of a call that Nest creates none for, as functions in rules and guards get it. */
export class CallContext {
  /** @param kind `'ws'` for a connection to a gateway, whose first argument is the client */
  constructor(
    private readonly kind: 'provider' | 'ws',
    private readonly type: Type,
    private readonly method: unknown,
    private readonly args: unknown[],
  ) {}

  getType = (): string => this.kind;
  getClass = (): Type => this.type;
  getHandler = (): unknown => this.method;
  getArgs = (): unknown[] => this.args;
  getArgByIndex = (index: number): unknown => this.args[index];
  switchToHttp = (): object => ({ getRequest: this.none, getResponse: this.none, getNext: this.none });
  switchToRpc = (): object => ({ getData: () => this.args[0], getContext: this.none });
  switchToWs = (): object =>
    this.kind === 'ws'
      ? { getClient: () => this.args[0], getData: this.none, getPattern: this.none }
      : { getClient: this.none, getData: () => this.args[0], getPattern: this.none };
  private readonly none = (): undefined => undefined;

  /** Returns the context of a call. */
  static of(...given: ConstructorParameters<typeof CallContext>): ExecutionContext {
    return new CallContext(...given) as unknown as ExecutionContext;
  }
}

/** A call without a client address: a message, an event, or a call of a library, such as a queue consumer or a bot. */
export class CallExchange extends Exchange {
  readonly transport: Exchange['transport'] = 'other';
  readonly request = WITHOUT_CLIENT;

  constructor(readonly context: ExecutionContext) {
    super();
  }
}
