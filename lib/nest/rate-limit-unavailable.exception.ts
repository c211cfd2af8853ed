import { HttpException, HttpStatus } from '@nestjs/common';
import { checkDecision, type Decision } from '../contracts/decision.js';
import { PROBLEM_JSON, unavailableDetails } from '../http/problem.js';

/** Thrown by the guard when Redis cannot decide and `onStoreError` is `'deny'`: a 503 with the decision. */
export class RateLimitUnavailableException extends HttpException {
  /** Media type of the body; `undefined` for a custom body. */
  readonly contentType: string | undefined;

  /**
   * @param decision the decision of the fallback
   * @param body replaces the problem details
   */
  constructor(
    /** The decision of the fallback. */
    readonly decision: Decision,
    body?: string | object,
  ) {
    checkDecision(decision);
    super(body ?? unavailableDetails(decision), HttpStatus.SERVICE_UNAVAILABLE);
    this.contentType = body === undefined ? PROBLEM_JSON : undefined;
  }
}
