// Checks the blocks of one subject: a denial starts a block, and a request during a block does not extend it.
import { mayBeFull } from './charges.mjs';

/** A block may be shorter by this time, because a clock rounds down. */
const RESOLUTION_MS = 1;

/** Whether the subject may have been blocked while a request was decided. */
export function mayBeBlocked(side) {
  const { blockMs } = side.rule;
  if (!blockMs) return () => false;
  const lost = side.charges.filter(({ runBy }) => runBy !== undefined);
  const denied = side.requests.filter(({ allowed }) => !allowed);
  const begun = [
    ...lost.map(({ request, runBy }) => ({ ...request, answeredAt: runBy })),
    ...denied.filter((request) => mayBeFull(side, request)),
  ].map(({ sentAt, answeredAt }) => [sentAt, answeredAt + blockMs + (side.fault?.lateMs ?? 0)]);
  return ({ sentAt, answeredAt }) => begun.some(([from, to]) => from < answeredAt && to > sentAt);
}

/** No request is allowed during a block. */
export function checkBlocks({ name, rule, requests, fault }) {
  const { blockMs } = rule;
  if (!blockMs) return [];
  const blocks = blocksIn(requests, blockMs).filter(
    ([from, to]) => !fault?.mayEndBlocks(requests[0].subject, from - blockMs, to),
  );
  return requests
    .filter(({ allowed, sentAt, answeredAt }) => {
      return allowed && blocks.some(([from, to]) => sentAt >= from && answeredAt < to);
    })
    .map(
      ({ subject, sentAt }) =>
        `${rule.rule} of ${subject}: ${name} allowed a request at ${sentAt} during a block`,
    );
}

/**
 * Returns when the subject was certainly blocked. A block starts between an allowed request and a denied one: not
 * before the first was sent, and before the second was decided.
 */
function blocksIn(requests, blockMs) {
  const allowed = requests
    .filter((request) => request.allowed)
    .toSorted((a, b) => a.answeredAt - b.answeredAt);
  const blocks = new Map();
  let passed = 0;
  let last = -Infinity;
  for (const { sentAt, answeredAt, source } of requests.filter((request) => !request.allowed)) {
    while (allowed[passed]?.answeredAt < sentAt) last = Math.max(last, allowed[passed++].sentAt);
    if (source !== 'cache' && last > -Infinity)
      blocks.set(last, Math.min(answeredAt, blocks.get(last) ?? Infinity));
  }
  return [...blocks].map(([from, by]) => [by, from + blockMs - RESOLUTION_MS]);
}
