import { checkDecision, type Decision } from '../contracts/decision.js';
import { readOptions } from '../contracts/options.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { Adjustment, Hit } from '../contracts/store.js';
import { isPaid, DecidedHit } from './decision.js';
import { checkNames } from './operation.js';
import { REFUND_OPTIONS, type RefundOptions } from './rate-limiter.options.js';

/**
 * Returns the refunds of the permits that a decision charged, once.
 *
 * @throws RateLimitConfigError if the decision is not one of a limiter, or an option is invalid
 */
export function refundsOf(decision: Decision, options: RefundOptions | undefined): readonly Adjustment[] {
  checkCharged(decision);
  const { onlyLast = false, rules } = readOptions('refund', options, REFUND_OPTIONS);
  if (rules)
    checkNames(
      'refund',
      rules,
      decision.decisions.map(({ rule }) => rule),
    );
  const isMeant = (hit: Hit, index: number): boolean =>
    isPaid(hit) && (rules === undefined || rules.includes(decision.decisions[index]!.rule));
  return DecidedHit.chargeOf(decision)?.take(onlyLast ? 'refund-last' : 'refund', isMeant) ?? [];
}

/**
 * @throws RateLimitConfigError if the decision was allowed and its charge is unknown: a copy, or an object of
 *   another origin
 */
function checkCharged(decision: unknown): void {
  const given = checkDecision(decision);
  if (given instanceof DecidedHit || !given.allowed) return;
  throw new RateLimitConfigError([
    problem('decision', given, 'the object that the limiter returned, since a copy does not have its charge'),
  ]);
}
