// Checks the requests of one subject on a rule that allows at most `limit` in any window.

/** The fallback counts by `Date.now`, which rounds down: what it takes for a window may lack as much. */
const RESOLUTION_MS = 1;

const byRedis = ({ source }) => source === 'redis' || source === 'cache';
const byFallback = ({ source }) => source === 'fallback';

/** Every promise that the requests of one subject break. */
export function checkWindows(rule, lines, faults, lostCalls) {
  const requests = lines.filter(({ kind }) => kind === 'request').toSorted((a, b) => a.sentAt - b.sentAt);
  return [
    ...exceeded(rule, requests, faults),
    ...exceededByFallback(rule, requests, faults),
    ...lost(rule, lines, requests, faults),
    ...deniedWithoutCause(rule, requests, lostCalls),
  ];
}

/** Redis never allows more than the limit in a window, unless it lost its state in between. */
function exceeded({ rule, limit, windowMs }, requests, faults) {
  const allowed = requests.filter((request) => request.allowed && byRedis(request));
  const most = mostSurelyWithin(allowed, windowMs);
  const losses = faults.filter(({ forgets }) => forgets).length;
  const bound = limit * (1 + losses);
  if (most <= bound) return [];
  return [`${rule} of ${requests[0].subject}: Redis allowed ${most} in one window, the bound is ${bound}`];
}

/** What the fallback allows during one fault is bounded, on top of what Redis had counted. */
function exceededByFallback({ rule, limit, windowMs }, requests, faults) {
  const allowed = requests.filter((request) => request.allowed && byFallback(request));
  const bound = faults.reduce((sum, { fallback }) => sum + (fallback === 'L' ? limit : fallback), 0);
  const most = mostSurelyWithin(allowed, windowMs - RESOLUTION_MS);
  if (most <= bound) return [];
  return [
    `${rule} of ${requests[0].subject}: the fallback allowed ${most} in one window, the bound is ${bound}`,
  ];
}

/** What Redis has allowed within the last window is still charged, and nothing that was not asked for. */
function lost({ rule, windowMs }, lines, requests, faults) {
  const isForgotten = (at) => faults.some(({ forgets, to }) => forgets && to >= at);
  return lines
    .filter(({ kind }) => kind === 'charged')
    .flatMap(({ subject, at, used }) => {
      const recent = requests.filter(({ sentAt }) => sentAt > at - windowMs && !isForgotten(sentAt));
      const least = recent.filter((request) => request.allowed && request.source === 'redis').length;
      const most = requests
        .filter(({ answeredAt }) => answeredAt > at - windowMs)
        .filter(mayBeCharged).length;
      if (used < least) return [`${rule} of ${subject}: Redis has charged ${used}, but allowed ${least}`];
      if (used > most)
        return [`${rule} of ${subject}: Redis has charged ${used}, but at most ${most} may be`];
      return [];
    });
}

/** A call whose reply was lost may have been charged though the fallback answered it; a denial never is. */
function mayBeCharged(request) {
  return request.allowed ? request.source !== 'cache' : byFallback(request);
}

/** Redis denies only what would exceed the limit, counting all that may have been charged by then. */
function deniedWithoutCause({ rule, limit, windowMs }, requests, lostCalls) {
  const charges = requests.filter(mayBeCharged).map((request) => {
    const { sentAt: from, answeredAt } = request;
    // Redis may have run a call that was lost after the fallback had answered the request.
    return { request, from, to: byFallback(request) ? lostCalls.overAfter(request) : answeredAt };
  });
  return requests
    .filter((request) => !request.allowed && byRedis(request))
    .flatMap((denied) => {
      const { subject, sentAt, answeredAt } = denied;
      const used = charges.filter(
        ({ request, from, to }) => request !== denied && from < answeredAt && to > sentAt - windowMs,
      ).length;
      if (used >= limit) return [];
      return [`${rule} of ${subject}: denied at ${sentAt} with at most ${used} of ${limit} used`];
    });
}

/** The most requests that were surely decided within one window. Sorted by `sentAt`. */
function mostSurelyWithin(requests, windowMs) {
  let most = 0;
  for (let first = 0; first < requests.length; first += 1) {
    const end = requests[first].sentAt + windowMs;
    let within = 0;
    for (let index = first; index < requests.length && requests[index].sentAt < end; index += 1) {
      if (requests[index].answeredAt < end) within += 1;
    }
    most = Math.max(most, within);
  }
  return most;
}
