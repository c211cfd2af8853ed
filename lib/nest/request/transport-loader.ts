import type {
  ArgumentsHost,
  ExecutionContext,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  Type,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { HandlerStages } from '../../transports/handler-stages.js';
import type { Exchange } from './exchange.js';
import type { Denial } from './responder.js';

/** Limits requests of all transports but HTTP, and calls of methods. */
export interface OtherTransports {
  readonly stages: HandlerStages;
  /** Completes the responses to GraphQL operations. */
  readonly graphql: object;
  /** Returns a request outside HTTP. */
  exchangeOf(context: ExecutionContext): Exchange;
  /** Runs a step of a decision, so that whatever it throws is answered. */
  answerable<Result>(context: ExecutionContext, step: () => Promise<Result>): Promise<Result>;
  /** Reports a denial in the language of a transport. */
  answerDenial(exception: Denial, host: ArgumentsHost): Observable<never> | void;
  /** Returns the address of a handler of such a kind, as the id of its route. */
  addressOf(kind: string, type: Type, handler: object, method: string): string;
  /** Returns why the connections to gateways cannot be limited. */
  problems(): readonly string[];
  start(): void;
  stop(): void;
}

/**
 * Loads the code for transports other than HTTP: at start if the application has a handler of one, else with the first
 * request outside HTTP.
 */
export class TransportLoader implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Absent until they are loaded. */
  current: OtherTransports | undefined;
  private opening: Promise<OtherTransports> | undefined;
  private isStarted = false;

  constructor(private readonly create: () => Promise<OtherTransports>) {}

  open(): Promise<OtherTransports> {
    return (this.opening ??= this.load());
  }

  onApplicationBootstrap(): void {
    this.isStarted = true;
    this.current?.start();
  }

  onApplicationShutdown(): void {
    this.current?.stop();
  }

  /** Reports a denial that the application has thrown outside HTTP. */
  answerDenial(exception: Denial, host: ArgumentsHost): Observable<never> | void {
    if (!this.current) throw exception;
    return this.current.answerDenial(exception, host);
  }

  private async load(): Promise<OtherTransports> {
    this.current = await this.create();
    if (this.isStarted) this.current.start();
    return this.current;
  }
}
