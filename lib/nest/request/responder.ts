import { Logger, type ExecutionContext, Inject, Injectable, type ArgumentsHost } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { shown } from '../../contracts/shown.js';
import { nestBody, problemDetails, unavailableDetails, type ProblemDetails } from '../../http/problem.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { HttpAdapterHost } from '@nestjs/core';
import {
  HEADER_FIELDS,
  NEWEST_DRAFT,
  rateLimitHeaders,
  type Header,
  type HeaderContext,
  type HeaderStyle,
} from '../../http/headers.js';
import { DecidedHit } from '../../limiter/decision.js';
import { BeforeRouting } from './before-routing.js';
import { RuleTable } from '../rules/rule-table.js';
import {
  RateLimitUnavailableException,
  HEADERS_SET,
  RateLimitExceededException,
} from '../rate-limit.exception.js';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';
import { recordUsage, usage } from '../parameter.decorators.js';
import type { Exchange } from './exchange.js';

/**
 * Returns the result of a function that creates an error, without collecting a stack trace: that would cost more than
 * deciding a request, and the stack trace of a denial is always the same.
 */
export function withoutStack<Result>(create: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** @throws TypeError if the value is neither a string nor an object, or cannot be sent as JSON */
function checkedBody(body: unknown): string | object {
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null)
    throw new TypeError(`got ${shown(body)}; allowed: a string or an object`);
  JSON.stringify(body);
  return body;
}

/** The exception of a denied request: a 429, or a 503 if the limits could not be checked. */
export type Denial = RateLimitExceededException | RateLimitUnavailableException;

/** Denies a request: throws the exception of a decision in a later microtask, see `Responder.deny`. */
export type Deny = (context: ExecutionContext, decision: Decision, detail?: string) => Promise<never>;

/** Reports a decision to the client: in the headers of the response and, for a denial, as an exception. */
@Injectable()
export class Responder {
  private readonly logger = new Logger('RateLimit');
  private readonly styles: readonly HeaderStyle[];
  private readonly body: RateLimitModuleOptions['body'];
  private readonly idHeader: string | undefined;
  private readonly context: HeaderContext;
  /** The contexts in which the guard decided, by response: for exceptions that the application throws after it. */
  private readonly contexts = new WeakMap<object, ExecutionContext>();

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) options: RateLimitModuleOptions,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(RuleTable) table: RuleTable,
    @Inject(BeforeRouting) private readonly before: BeforeRouting,
  ) {
    const { headers = 'draft-10', body, denialIdHeader } = options ?? {};
    this.idHeader = denialIdHeader;
    this.body = body;
    this.styles = headers === false ? [] : [headers].flat();
    this.context = {
      costOf: (decision, rule) => DecidedHit.costOf(decision, rule),
      sourceOf: (rule) => table.sourceOf(rule),
    };
    if (this.styles.includes('draft')) this.logger.log(`The headers "draft" are those of ${NEWEST_DRAFT}.`);
  }

  /** Sets the headers of the response. */
  respond(exchange: Exchange, decision: Decision, styles = this.styles): void {
    const { response, context, request } = exchange;
    const all = this.before.rules.size > 0 ? this.before.merged(request, decision) : decision;
    if (usage.isRead) recordUsage(context, decision);
    if (!response) {
      const { before } = this;
      const format = (joined: Decision): readonly Header[] =>
        this.headersOf(before.merged(request, joined), styles, decision);
      exchange.sendHeaders?.(decision, format);
      return;
    }
    if (typeof this.body === 'function') this.contexts.set(response, context);
    this.setHeaders(response, all, styles, decision);
  }

  /**
   * Denies a request, in a later microtask: creating and throwing an exception at the depth of the call stack from the
   * socket to the guard would cost as much as the decision.
   *
   * @param detail replaces the sentence in the problem details
   * @throws RateLimitExceededException, or RateLimitUnavailableException if the limits could not be checked
   */
  readonly deny: Deny = async (context, decision, detail) => {
    await Promise.resolve();
    const isUnavailable = decision.fallback === 'deny';
    // An error of GraphQL has extensions instead of a body, and Apollo replaces those of a body with a status code.
    const hasBody = context.getType<string>() !== 'graphql';
    const body = hasBody ? await this.bodyOf(decision, context, isUnavailable, detail) : undefined;
    throw denial(decision, isUnavailable, body, detail);
  };

  /**
   * Sets the headers of a response for an exception that the application has thrown.
   *
   * @param host its context is that of a body if the guard has not decided the request
   * @returns the exception to respond with: with the body of the option `body`, unless the application set its own
   */
  complete(
    thrown: Denial,
    response: { removeHeader?(name: string): unknown },
    host: ArgumentsHost,
  ): Denial | Promise<Denial> {
    if (HEADERS_SET in thrown) return thrown;
    for (const name of HEADER_FIELDS) response.removeHeader?.(name);
    this.setHeaders(response, thrown.decision);
    if (!this.body || !thrown.contentType) return thrown;
    const context = this.contexts.get(response) ?? (host as ExecutionContext);
    const { detail } = thrown.getResponse() as ProblemDetails;
    const isUnavailable = thrown instanceof RateLimitUnavailableException;
    return this.bodyOf(thrown.decision, context, isUnavailable, detail).then((body) =>
      denial(thrown.decision, isUnavailable, body, detail),
    );
  }

  /**
   * Returns the body of a denied request by the option `body`; `undefined` for problem details.
   *
   * @param isUnavailable whether it is the body of a 503
   * @param detail replaces the sentence in the problem details
   */
  private async bodyOf(
    decision: Decision,
    context: ExecutionContext,
    isUnavailable: boolean,
    detail?: string,
  ): Promise<string | object | undefined> {
    if (this.body === 'nest') {
      return nestBody(isUnavailable ? unavailableDetails(decision) : problemDetails(decision, detail));
    }
    if (!this.body || isUnavailable) return undefined;
    try {
      return checkedBody(await this.body(decision, context));
    } catch (error) {
      this.logger.error('`body` failed; the response has problem details instead.', error);
      return undefined;
    }
  }

  /** @param own the decision without the results of other rules of the request: its id is that of a denial */
  private headersOf(decision: Decision, styles: readonly HeaderStyle[], own: Decision): readonly Header[] {
    const headers = rateLimitHeaders(decision, styles, this.context);
    const id = this.idHeader === undefined ? undefined : own.id;
    if (id !== undefined) headers.push([this.idHeader!, id]);
    return headers;
  }

  private setHeaders(response: unknown, decision: Decision, styles = this.styles, own = decision): void {
    const { httpAdapter } = this.host;
    if (httpAdapter.isHeadersSent(response)) return; // Express would throw.
    for (const [name, value] of this.headersOf(decision, styles, own)) {
      httpAdapter.setHeader(response, name, value);
    }
  }
}

/** Returns the exception of a denial, marked as having its headers set. */
function denial(decision: Decision, isUnavailable: boolean, body?: string | object, detail?: string): Denial {
  const exception = withoutStack(() =>
    isUnavailable
      ? new RateLimitUnavailableException(decision, body)
      : new RateLimitExceededException(decision, body, detail),
  );
  return Object.assign(exception, { [HEADERS_SET]: true });
}
