// Checks the charges in Redis after all requests, and the results of refunds.
import { byRedis, requestsIn, returnsIn, sum } from './charges.mjs';

/** Every allowed request is still charged, and nothing else is charged. */
export function checkCharged(of) {
  const { rule, lines, fault } = of;
  const reads = lines.filter(({ kind }) => kind === 'charged');
  if (reads.length === 0) return [];
  const { charges, lingering } = byRedis(of);
  // Permits that were taken ahead before a step of the clock are not refunded after it.
  const unreturned = fault.isClockSet ? lingering : 0;
  return reads.flatMap(({ subject, at, used }) => {
    const counts = ([from, to]) => from <= at && to > at;
    const slack = fault.permitsOfSteps(rule);
    const kept = charges.filter(({ request, surely }) => counts(surely) && !fault.mayLose(rule, request));
    const least = Math.min(rule.limit, sum(kept)) - slack; // A debt is not read.
    const most = sum(charges.filter(({ possibly }) => counts(possibly))) + Math.max(slack, unreturned);
    const name = `${rule.rule} of ${subject}: Redis has charged ${used}`;
    if (used < least) return [`${name}, but allowed ${least}`];
    if (used > most) return [`${name}, but at most ${most} may be`];
    return [];
  });
}

/** A refund fails only if a call failed meanwhile, or if the charge may have expired. */
export function checkReturns({ rule, lines, fault, lostCalls }) {
  const returns = returnsIn(lines);
  return requestsIn(lines).flatMap((request) => {
    const returned = returns.get(request.permit);
    if (returned?.made !== false || request.source === 'fallback') return [];
    const isOver = returned.endedAt >= request.sentAt + (rule.windowMs ?? Infinity);
    if (isOver || fault.isClockSet || fault.mayLose(rule, request) || lostCalls.mayHaveLost(returned))
      return [];
    return [`${rule.rule} of ${request.subject}: a refund at ${returned.sentAt} was not made`];
  });
}
