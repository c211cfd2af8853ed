import { HttpException, HttpStatus } from '@nestjs/common';
import { checkDecision, type Decision } from '../contracts/decision.js';
import {
  denialExtensions,
  PROBLEM_JSON,
  unavailableDetails,
  type DenialExtensions,
} from '../http/problem.js';

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

  /** @internal The message in logs and in GraphQL errors is the sentence of the problem details. */
  override initMessage(): void {
    super.initMessage();
    const { detail } = this.getResponse() as { readonly detail?: unknown };
    if (typeof detail === 'string') this.message = detail;
  }

  /** The `extensions` of a GraphQL error. */
  get extensions(): DenialExtensions {
    return denialExtensions('SERVICE_UNAVAILABLE', this.decision);
  }
}
