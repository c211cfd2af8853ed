import { Catch, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { RateLimitUnavailableException } from './rate-limit-unavailable.exception.js';
import { RateLimitExceededException } from './rate-limit.exception.js';

/** Answers a refused request: over HTTP with its status and body; the guard has set the headers. */
@Catch(RateLimitExceededException, RateLimitUnavailableException)
export class RateLimitFilter implements ExceptionFilter {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(
    exception: RateLimitExceededException | RateLimitUnavailableException,
    host: ArgumentsHost,
  ): Observable<never> | void {
    switch (host.getType<string>()) {
      case 'http':
        this.answer(exception, host.getArgByIndex<object>(1));
        return;
      case 'ws':
        host
          .switchToWs()
          .getClient<{ emit?(event: string, data: unknown): void }>()
          .emit?.('exception', exception.getResponse());
        return;
      case 'rpc':
        return throwError(() => exception.getResponse());
      default:
        throw exception;
    }
  }

  /** Express's own way to send would hash the body for an ETag, which nobody can ask for again. */
  private answer(
    exception: RateLimitExceededException | RateLimitUnavailableException,
    response: object,
  ): void {
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
