// Checks the requests of one subject on a rule that allows at most `limit` permits to be held at a time.

/** For so long after a fault a permit may stay held that no caller has: what a lost call took is released by then. */
const RELEASED_WITHIN_MS = 5000;

/** Every promise that the requests of one subject break. */
export function checkHeld(rule, lines, faults) {
  const released = new Map();
  for (const line of lines) if (line.kind === 'release') released.set(line.permit, line);
  const requests = lines.filter(({ kind }) => kind === 'request').toSorted((a, b) => a.sentAt - b.sentAt);
  const spans = requests
    .filter(({ allowed, source }) => allowed && source === 'redis')
    .map((request) => ({ ...request, releasedAt: released.get(request.permit)?.sentAt ?? Infinity }));
  return [...exceeded(rule, spans, faults), ...deniedWithoutCause(rule, requests, spans, released, faults)];
}

/** No more than the limit are surely held at once: from the answer to the release's start. */
function exceeded({ rule, limit }, spans, faults) {
  const losses = faults.filter(({ forgets }) => forgets).length;
  const changes = spans
    .flatMap(({ answeredAt, releasedAt }) => [
      [answeredAt, 1],
      [releasedAt, -1],
    ])
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  let held = 0;
  let most = 0;
  for (const [, change] of changes) most = Math.max(most, (held += change));
  if (most <= limit * (1 + losses)) return [];
  return [`${rule} of ${spans[0].subject}: ${most} held at once, the limit is ${limit}`];
}

/** Redis denies only while the limit may be held; what a lost call took counts until it must be released. */
function deniedWithoutCause({ rule, limit }, requests, spans, released, faults) {
  const isDisturbed = (at) => faults.some(({ from, to }) => at >= from && at <= to + RELEASED_WITHIN_MS);
  return requests
    .filter(({ allowed, source, sentAt }) => !allowed && source === 'redis' && !isDisturbed(sentAt))
    .flatMap((denied) => {
      const held = spans.filter(
        ({ sentAt, permit }) =>
          sentAt < denied.answeredAt && (released.get(permit)?.endedAt ?? Infinity) > denied.sentAt,
      ).length;
      if (held >= limit) return [];
      return [
        `${rule} of ${denied.subject}: denied at ${denied.sentAt} with at most ${held} of ${limit} held`,
      ];
    });
}
