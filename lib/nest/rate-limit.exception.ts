import { HttpException, HttpStatus } from '@nestjs/common';
import { checkDecision, type Decision } from '../contracts/decision.js';
import {
  denialExtensions,
  PROBLEM_JSON,
  problemDetails,
  type DenialExtensions,
  unavailableDetails,
} from '../http/problem.js';

/** Marks an exception of the guard, which has already set the headers of the response. */
export const HEADERS_SET = Symbol.for('nestjs-redis-rate-limit:headers-set');

/** The exception of a denied request. Its message in logs and in GraphQL errors is the sentence of the problem details. */
export abstract class DenialException extends HttpException {
  /** Media type of the body; `undefined` for a custom body. */
  readonly contentType: string | undefined;

  /** @throws RateLimitConfigError if `decision` is not a decision */
  constructor(
    /** The decision that denied the request. */
    readonly decision: Decision,
    status: HttpStatus,
    body: string | object | undefined,
    details: () => object,
  ) {
    checkDecision(decision);
    super(body ?? details(), status);
    this.contentType = body === undefined ? PROBLEM_JSON : undefined;
  }

  /** The `extensions` of a GraphQL error. */
  get extensions(): DenialExtensions {
    return denialExtensions(HttpStatus[this.getStatus()] as DenialExtensions['code'], this.decision);
  }

  /** @internal */
  override initMessage(): void {
    super.initMessage();
    const { detail } = this.getResponse() as { readonly detail?: unknown };
    if (typeof detail === 'string') this.message = detail;
  }
}

/**
 * Thrown by the guard when a rule denies: a 429 with the decision. An application can throw it as well.
 *
 * @example
 * if (!decision.allowed) throw new RateLimitExceededException(decision);
 */
export class RateLimitExceededException extends DenialException {
  /**
   * @param decision the decision of the limiter
   * @param body replaces the problem details
   * @param detail replaces the sentence in the problem details
   * @throws RateLimitConfigError if `decision` is not a decision
   */
  constructor(decision: Decision, body?: string | object, detail?: string) {
    super(decision, HttpStatus.TOO_MANY_REQUESTS, body, () => problemDetails(decision, detail));
  }
}

/** Thrown by the guard when Redis cannot decide and `onStoreError` is `'deny'`: a 503 with the decision. */
export class RateLimitUnavailableException extends DenialException {
  /**
   * @param decision the decision of the fallback
   * @param body replaces the problem details
   */
  constructor(decision: Decision, body?: string | object) {
    super(decision, HttpStatus.SERVICE_UNAVAILABLE, body, () => unavailableDetails(decision));
  }
}
