import {
  Inject,
  Injectable,
  InternalServerErrorException,
  Logger,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { hasFigures, type Decision } from '../../contracts/decision.js';
import { callSafely } from '../../contracts/thenable.js';
import { HEADER_FIELDS, rateLimitHeaders, type HeaderStyle } from '../../http/headers.js';
import { exchangeOf, type Exchange } from './exchange.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';
import { HEADERS_SET, RateLimitExceededException } from '../rate-limit.exception.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';
import type { NoAddress } from './route-limit.js';
import { Warnings } from '../warnings.js';
import { withoutStack } from './without-stack.js';

/** What denies a request: a 429, or a 503 where the limits could not be checked. */
export type Denial = RateLimitExceededException | RateLimitUnavailableException;

interface Response {
  removeHeader(name: string): unknown;
}

/** Tells a decision to the client: by headers on the response, and if it denies by an exception. */
@Injectable()
export class RateLimitAnswer {
  private readonly logger = new Logger('RateLimit');
  private readonly styles: readonly HeaderStyle[];

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {
    const { headers = 'draft-10' } = options ?? {};
    this.styles = headers === false ? [] : typeof headers === 'string' ? [headers] : headers;
  }

  /** Sets the headers of a response, and tells `onDecision`. */
  tell({ response }: Exchange, decision: Decision, context: ExecutionContext, styles = this.styles): void {
    if (this.options.onDecision) this.report(decision, context);
    if (response && (hasFigures(decision) || !decision.allowed)) this.setHeaders(response, decision, styles);
  }

  /**
   * Sets the headers of a denial that the application has thrown, in the place of those that the guard has set.
   *
   * @returns the exception to answer: with the body of the option `body`, where the application gave it none
   */
  complete(thrown: Denial, response: Partial<Response>): Denial | Promise<Denial> {
    if (HEADERS_SET in thrown) return thrown;
    for (const name of HEADER_FIELDS) response.removeHeader?.(name);
    this.setHeaders(response, thrown.decision, this.styles);
    const { options } = this;
    if (!options.body || !thrown.contentType || thrown instanceof RateLimitUnavailableException)
      return thrown;
    return this.bodyOf(thrown.decision).then((body) =>
      answered(() => new RateLimitExceededException(thrown.decision, body)),
    );
  }

  private setHeaders(response: unknown, decision: Decision, styles: readonly HeaderStyle[]): void {
    for (const [name, value] of rateLimitHeaders(decision, hasFigures(decision) ? styles : [])) {
      this.host.httpAdapter.setHeader(response, name, value);
    }
  }

  /**
   * Refuses a request, a microtask later: an exception that is made and thrown on top of the whole way from
   * the socket to the guard costs as much as deciding the request.
   *
   * @throws RateLimitExceededException, or RateLimitUnavailableException where nobody could decide
   */
  async refuse(decision: Decision): Promise<never> {
    await Promise.resolve();
    if (decision.fallback === 'deny') throw answered(() => new RateLimitUnavailableException(decision));
    const body = await this.bodyOf(decision);
    throw answered(() => new RateLimitExceededException(decision, body));
  }

  private report(decision: Decision, context: ExecutionContext): void {
    const failed = (error: unknown): void => this.logger.error('`onDecision` failed.', error);
    callSafely((told) => this.options.onDecision?.(told, context), decision, failed);
  }

  /**
   * Refuses a request that was not counted: without figures in the headers, as there are none.
   *
   * @throws RateLimitExceededException, or RateLimitUnavailableException where its rule could not be evaluated
   */
  async refuseUncounted(decision: Decision, context: ExecutionContext): Promise<never> {
    await Promise.resolve();
    this.tell(exchangeOf(context), decision, context, []);
    if (decision.fallback === 'deny') throw answered(() => new RateLimitUnavailableException(decision));
    const body = await this.bodyOf(decision);
    const detail = `Rule "${decision.rule}" counts by something that this request does not have.`;
    throw answered(() => new RateLimitExceededException(decision, body, detail));
  }

  /**
   * Fails a request that has no IP address to count it by.
   *
   * @throws InternalServerErrorException
   */
  async refuseWithoutAddress(rule: string, reason: NoAddress): Promise<never> {
    await Promise.resolve();
    if (reason === 'no-address') this.warnings.warn('RL_NO_CLIENT_ADDRESS', noAddressMessage(rule));
    throw withoutStack(() => new InternalServerErrorException());
  }

  /** The application's own body; `undefined` for the problem details, also when its function fails. */
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

/** An exception whose headers are set. */
function answered(create: () => Denial): Denial {
  return Object.assign(withoutStack(create), { [HEADERS_SET]: true });
}

function noAddressMessage(rule: string): string {
  return (
    `Rule "${rule}" counts by IP, and a request had no IP address, so it got a 500. ` +
    'On a unix socket the address comes from X-Forwarded-For, and only if the framework trusts the proxy: ' +
    "app.set('trust proxy', 1) on Express, trustProxy: (_address, hop) => hop === 0 on Fastify. " +
    "Otherwise count by something else, or set onMissingSubject to 'skip' or 'deny'."
  );
}

/** @throws TypeError if it is no body, or cannot be sent as JSON */
function checkedBody(body: unknown): string | object {
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null)
    throw new TypeError(`got ${typeof body}; allowed: a string or an object`);
  JSON.stringify(body);
  return body;
}
