import { HttpException, HttpStatus } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { PROBLEM_JSON, problemDetails } from '../http/problem.js';

/** Thrown by the guard when a rule denies: a 429 that carries the decision. */
export class RateLimitExceededException extends HttpException {
  /** What the body is, for the header of that name; absent for a body of the user's own. */
  readonly contentType: string | undefined;

  /**
   * @param body replaces the problem details
   * @param detail replaces the sentence in them
   */
  constructor(
    readonly decision: Decision,
    body?: string | object,
    detail?: string,
  ) {
    super(body ?? problemDetails(decision, detail), HttpStatus.TOO_MANY_REQUESTS);
    this.contentType = body === undefined ? PROBLEM_JSON : undefined;
  }
}
