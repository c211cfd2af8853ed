import type { ServerResponse } from 'node:http';
import { Catch, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { rawOf } from '../http/response-end.js';
import { checkInjected } from './checks/module-check.js';
import { isHttp } from './request/exchange.js';
import { Responder, type Denial } from './request/responder.js';
import type { TransportLoader } from './request/transport-loader.js';
import { DenialException } from './rate-limit.exception.js';
import { TRANSPORT_LOADER } from './tokens.js';

/** The metadata of `@Catch`. */
const CAUGHT = '__filterCatchExceptions__';

type Caught = typeof DenialException;

/**
 * Exception filter that responds to denied requests: over HTTP with status, body and headers, over WebSocket with the
 * event `exception`, to a message with an error. A global filter of the application for exactly these exceptions responds
 * instead.
 *
 * @example
 * `@UseFilters(RateLimitFilter)`
 */
@Catch(DenialException)
export class RateLimitFilter implements ExceptionFilter {
  /**
   * @internal
   * @throws RateLimitConfigError if Nest does not inject its dependencies
   */
  constructor(
    @Inject(TRANSPORT_LOADER) private readonly transports: TransportLoader,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {
    checkInjected(this, 'Filter', (responder as Partial<Responder> | undefined)?.complete);
  }

  catch(exception: Denial, host: ArgumentsHost): Observable<never> | void {
    const own = this.exactFilter(exception);
    if (own) return own.catch(exception, host) as Observable<never> | void;
    if (!isHttp(host)) return this.transports.answerDenial(exception, host);
    this.respond(exception, host.getArgByIndex<object>(1), host);
  }

  /**
   * Returns the global filter of the application for this class of exceptions. A filter that is placed nearer responds
   * itself, and so does a subclass: the filter that it calls may be one that calls it.
   */
  private exactFilter(exception: Denial): ExceptionFilter | undefined {
    const globals = this.config.getGlobalFilters();
    if (this.constructor !== RateLimitFilter || !globals.includes(this)) return undefined;
    return globals.findLast((filter) => filter.constructor !== RateLimitFilter && isFor(filter, exception));
  }

  private respond(exception: Denial, response: object, host: ArgumentsHost): void {
    const { httpAdapter } = this.host;
    // Nest 11 does not notice on Fastify that a handler has written to the raw response.
    if (httpAdapter.isHeadersSent(response) || (rawOf(response) as ServerResponse).headersSent) {
      httpAdapter.end(response);
      return;
    }
    const complete = this.responder.complete(exception, response, host);
    if (complete instanceof Promise)
      void complete.then((completed) => this.respond(completed, response, host));
    else this.send(complete, response);
  }

  /** Bypasses the `send` of Express, which would hash the body for an ETag that no client can use. */
  private send(exception: Denial, response: object): void {
    const { httpAdapter } = this.host;
    const [body, status] = [exception.getResponse(), exception.getStatus()];
    if (exception.contentType === undefined) {
      httpAdapter.reply(response, body, status);
      return;
    }
    const text = JSON.stringify(body);
    httpAdapter.setHeader(response, 'Content-Type', exception.contentType);
    if (httpAdapter.getType() !== 'express') {
      httpAdapter.reply(response, text, status);
      return;
    }
    httpAdapter.status(response, status);
    httpAdapter.setHeader(response, 'Content-Length', `${Buffer.byteLength(text)}`);
    httpAdapter.end(response, text);
  }
}

/** Whether a filter catches denials by their class or a subclass, rather than by a class that it extends, or everything. */
function isFor(filter: ExceptionFilter, exception: Denial): boolean {
  const caught = (Reflect.getMetadata(CAUGHT, filter.constructor) ?? []) as readonly Caught[];
  const isDenial = (type: Caught): boolean =>
    type === DenialException || type.prototype instanceof DenialException;
  return caught.some((type) => exception instanceof type && isDenial(type));
}
