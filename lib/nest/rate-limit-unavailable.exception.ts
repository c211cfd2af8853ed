import { HttpException, HttpStatus } from '@nestjs/common';
import { checkDecision, type Decision } from '../contracts/decision.js';
import { PROBLEM_JSON, unavailableDetails } from '../http/problem.js';

/** Thrown by the guard when Redis cannot decide and `onStoreError` is `'deny'`: a 503 with the decision. */
export class RateLimitUnavailableException extends HttpException {
  /** Media type of the body. */
  readonly contentType: string = PROBLEM_JSON;

  constructor(
    /** The decision of the fallback. */
    readonly decision: Decision,
  ) {
    checkDecision(decision);
    super(unavailableDetails(decision), HttpStatus.SERVICE_UNAVAILABLE);
  }
}
