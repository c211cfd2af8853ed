import { Inject, Injectable, Logger, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Decision } from '../../contracts/decision.js';
import { callSafely } from '../../contracts/thenable.js';
import { HEADER_FIELDS, rateLimitHeaders, type HeaderStyle } from '../../http/headers.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';
import { HEADERS_SET, RateLimitExceededException } from '../rate-limit.exception.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';
import type { Exchange } from './exchange.js';
import { withoutStack } from './without-stack.js';

/** The exception of a denied request: a 429, or a 503 if the limits could not be checked. */
export type Denial = RateLimitExceededException | RateLimitUnavailableException;

interface Response {
  removeHeader(name: string): unknown;
}

/** Reports a decision to the client: in the headers of the response and, for a denial, as an exception. */
@Injectable()
export class Responder {
  private readonly logger = new Logger('RateLimit');
  private readonly styles: readonly HeaderStyle[];

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    const { headers = 'draft-10' } = options ?? {};
    this.styles = headers === false ? [] : typeof headers === 'string' ? [headers] : headers;
  }

  /** Sets the headers of the response, and calls `onDecision`. */
  respond({ response, context }: Exchange, decision: Decision, styles = this.styles): void {
    if (this.options.onDecision) this.report(decision, context);
    if (response) this.setHeaders(response, decision, styles);
  }

  /**
   * Denies a request, in a later microtask: creating and throwing an exception at the depth of the call stack from the
   * socket to the guard would cost as much as the decision.
   *
   * @param detail replaces the sentence in the problem details
   * @throws RateLimitExceededException, or RateLimitUnavailableException if the limits could not be checked
   */
  async deny(decision: Decision, detail?: string): Promise<never> {
    await Promise.resolve();
    if (decision.fallback === 'deny') throw completed(() => new RateLimitUnavailableException(decision));
    const body = await this.bodyOf(decision);
    throw completed(() => new RateLimitExceededException(decision, body, detail));
  }

  /**
   * Sets the headers of a response for an exception that the application has thrown.
   *
   * @returns the exception to respond with: with the body of the option `body`, unless the application set its own
   */
  complete(thrown: Denial, response: Partial<Response>): Denial | Promise<Denial> {
    if (HEADERS_SET in thrown) return thrown;
    for (const name of HEADER_FIELDS) response.removeHeader?.(name);
    this.setHeaders(response, thrown.decision, this.styles);
    const hasBody = !thrown.contentType || thrown instanceof RateLimitUnavailableException;
    if (!this.options.body || hasBody) return thrown;
    return this.bodyOf(thrown.decision).then((body) =>
      completed(() => new RateLimitExceededException(thrown.decision, body)),
    );
  }

  private setHeaders(response: unknown, decision: Decision, styles: readonly HeaderStyle[]): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of rateLimitHeaders(decision, styles)) {
      httpAdapter.setHeader(response, name, value);
    }
  }

  private report(decision: Decision, context: ExecutionContext): void {
    const failed = (error: unknown): void => this.logger.error('`onDecision` failed.', error);
    callSafely((decided) => this.options.onDecision?.(decided, context), decision, failed);
  }

  /** Returns the body of the option `body`; `undefined` without this option, or if it fails. */
  private async bodyOf(decision: Decision): Promise<string | object | undefined> {
    if (!this.options.body) return undefined;
    try {
      return checkedBody(await this.options.body(decision));
    } catch (error) {
      this.logger.error('`body` failed; the response has problem details instead.', error);
      return undefined;
    }
  }
}

/** Returns an exception that is marked as having its headers set. */
function completed(create: () => Denial): Denial {
  return Object.assign(withoutStack(create), { [HEADERS_SET]: true });
}

/** @throws TypeError if the value is neither a string nor an object, or cannot be sent as JSON */
function checkedBody(body: unknown): string | object {
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null)
    throw new TypeError(`got ${typeof body}; allowed: a string or an object`);
  JSON.stringify(body);
  return body;
}
