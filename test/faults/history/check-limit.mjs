import { mayBeFull, mostUsedAt } from './charges.mjs';
import { mayBeBlocked } from './check-blocks.mjs';

/** Returns the requests that one counter allowed beyond its bound, or denied without a reason. */
export function checkLimit(side) {
  return [...exceeded(side), ...allowedInDebt(side), ...deniedWithoutCause(side)];
}

/** At no instant do more permits certainly count than the bound. */
function exceeded({ name, rule, charges, bound }) {
  const changes = charges
    .filter(({ surely: [from, to], isDebt }) => from < to && !isDebt)
    .flatMap(({ cost, surely: [from, to] }) => [
      [from, cost],
      [to, -cost],
    ])
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  let used = 0;
  let most = 0;
  for (const [, change] of changes) most = Math.max(most, (used += change));
  if (most <= bound) return [];
  const { subject } = charges[0].request;
  return [`${rule.rule} of ${subject}: ${name} allowed ${most} at once, the bound is ${bound}`];
}

/**
 * A cost above a reservation may exceed the limit. After that, no request is allowed until there is room. When a late
 * one was charged is not known to the millisecond.
 */
function allowedInDebt({ name, rule, charges, bound }) {
  if (!charges.some(({ isDebt }) => isDebt)) return [];
  return charges
    .filter(({ isDebt, surely: [from, to] }) => !isDebt && from < to)
    .flatMap(({ request }) => {
      const { subject, permit, cost, sentAt, answeredAt } = request;
      const others = charges.filter(({ request: { permit: other }, surely: [from, to], isLate }) => {
        return other !== permit && !isLate && from <= sentAt && to > answeredAt;
      });
      const used = others.reduce((total, each) => total + each.cost, 0);
      if (used + cost <= bound || !others.some(({ isDebt }) => isDebt)) return [];
      return [
        `${rule.rule} of ${subject}: ${name} allowed ${cost} at ${sentAt} with ${used} used, the bound is ${bound}`,
      ];
    });
}

/**
 * A counter denies only requests that would exceed its limit, including all charges that it may have made by then, or
 * whose subject is blocked.
 */
function deniedWithoutCause(side) {
  const isBlocked = mayBeBlocked(side);
  // A request behind others is denied for their wait, whichever counter they wait for.
  const { waits, burst } = side.rule;
  if (burst !== undefined || (waits && side.name !== 'Redis')) return [];
  return side.requests
    .filter((request) => !request.allowed && !mayBeFull(side, request) && !isBlocked(request))
    .map((request) => {
      const { subject, cost, sentAt } = request;
      const used = mostUsedAt(side, request);
      return `${side.rule.rule} of ${subject}: ${side.name} denied ${cost} at ${sentAt} with at most ${used} of ${side.limitAt(request)} used`;
    });
}
