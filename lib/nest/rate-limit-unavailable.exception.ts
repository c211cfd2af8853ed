import { HttpException, HttpStatus } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { PROBLEM_JSON, unavailableDetails } from '../http/problem.js';

/** Thrown by the guard when the store cannot be asked and `onStoreError` is `'deny'`: a 503. */
export class RateLimitUnavailableException extends HttpException {
  readonly contentType: string = PROBLEM_JSON;

  constructor(readonly decision: Decision) {
    super(unavailableDetails(decision), HttpStatus.SERVICE_UNAVAILABLE);
  }
}
