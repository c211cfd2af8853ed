import { Logger, type ExecutionContext } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { nestBody, problemDetails, unavailableDetails } from '../../http/problem.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';

/** Returns the body of a denied request by the option `body`; `undefined` for problem details. */
export class DenialBody {
  private readonly logger = new Logger('RateLimit');
  /** The contexts of responses, for exceptions that the application throws after the guard. */
  private readonly contexts = new WeakMap<object, ExecutionContext>();

  /** Whether the contexts of responses are needed. */
  readonly needsContext: boolean;

  constructor(private readonly option: RateLimitModuleOptions['body']) {
    this.needsContext = typeof option === 'function';
  }

  /** Remembers the context of a response. */
  remember(response: object, context: ExecutionContext): void {
    this.contexts.set(response, context);
  }

  /** Returns the context in which the guard decided the request of a response. */
  contextOf(response: object): ExecutionContext | undefined {
    return this.contexts.get(response);
  }

  /**
   * @param isUnavailable whether it is the body of a 503
   * @param detail replaces the sentence in the problem details
   */
  async of(
    decision: Decision,
    context: ExecutionContext,
    isUnavailable: boolean,
    detail?: string,
  ): Promise<string | object | undefined> {
    if (this.option === 'nest') {
      return nestBody(isUnavailable ? unavailableDetails(decision) : problemDetails(decision, detail));
    }
    if (!this.option || isUnavailable) return undefined;
    try {
      return checkedBody(await this.option(decision, context));
    } catch (error) {
      this.logger.error('`body` failed; the response has problem details instead.', error);
      return undefined;
    }
  }
}

/** @throws TypeError if the value is neither a string nor an object, or cannot be sent as JSON */
function checkedBody(body: unknown): string | object {
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null)
    throw new TypeError(`got ${typeof body}; allowed: a string or an object`);
  JSON.stringify(body);
  return body;
}
