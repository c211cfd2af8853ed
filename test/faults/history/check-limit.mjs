import { mayBeFull, mostUsedAt } from './charges.mjs';
import { mayBeBlocked } from './check-blocks.mjs';

/** What one side has allowed beyond its bound, or denied without cause. */
export function checkLimit(side) {
  return [...exceeded(side), ...deniedWithoutCause(side)];
}

/** No more than the bound surely counts at any instant. */
function exceeded({ name, rule, charges, bound }) {
  const changes = charges
    .filter(({ surely: [from, to] }) => from < to)
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

/** A side denies only what would exceed its limit, counting all that it may have charged by then, or is blocked. */
function deniedWithoutCause(side) {
  const isBlocked = mayBeBlocked(side);
  return side.requests
    .filter((request) => !request.allowed && !mayBeFull(side, request) && !isBlocked(request))
    .map((request) => {
      const { subject, cost, sentAt } = request;
      const used = mostUsedAt(side, request);
      return `${side.rule.rule} of ${subject}: ${side.name} denied ${cost} at ${sentAt} with at most ${used} of ${side.limitAt(request)} used`;
    });
}
