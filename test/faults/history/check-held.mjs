// Checks the requests of one subject on a rule that allows at most `limit` permits to be held at a time.

/** Every promise that the requests of one subject break. */
export function checkHeld(rule, lines, faults, lostCalls) {
  const released = new Map();
  for (const line of lines) if (line.kind === 'release') released.set(line.permit, line);
  const requests = lines.filter(({ kind }) => kind === 'request').toSorted((a, b) => a.sentAt - b.sentAt);
  const taken = requests
    .filter(({ allowed, source }) => allowed && source === 'redis')
    .map((request) => ({ ...request, release: released.get(request.permit) }));
  const lost = requests.filter(({ source }) => source === 'fallback');
  const mayBeHeld = [
    ...taken.map(({ sentAt, release }) => [sentAt, release ? lostCalls.releasedBy(release) : Infinity]),
    ...lost.map((request) => [request.sentAt, lostCalls.overAfter(request)]),
  ];
  return [...exceeded(rule, taken, faults), ...deniedWithoutCause(rule, requests, mayBeHeld)];
}

/** No more than the limit are surely held at once: from the answer to the release's start. */
function exceeded({ rule, limit }, taken, faults) {
  const losses = faults.filter(({ forgets }) => forgets).length;
  const changes = taken
    .flatMap(({ answeredAt, release }) => [
      [answeredAt, 1],
      [release?.sentAt ?? Infinity, -1],
    ])
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  let held = 0;
  let most = 0;
  for (const [, change] of changes) most = Math.max(most, (held += change));
  if (most <= limit * (1 + losses)) return [];
  return [`${rule} of ${taken[0].subject}: ${most} held at once, the limit is ${limit}`];
}

/** Redis denies only while the limit may be held. */
function deniedWithoutCause({ rule, limit }, requests, mayBeHeld) {
  return requests
    .filter(({ allowed, source }) => !allowed && source === 'redis')
    .flatMap(({ subject, sentAt, answeredAt }) => {
      const held = mayBeHeld.filter(([from, to]) => from < answeredAt && to > sentAt).length;
      if (held >= limit) return [];
      return [`${rule} of ${subject}: denied at ${sentAt} with at most ${held} of ${limit} held`];
    });
}
