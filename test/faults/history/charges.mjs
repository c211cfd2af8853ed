// Computes from the lines of one subject what Redis, and the memory of each process, has charged.

/** The fallback uses `Date.now`, which rounds down: a window may be shorter by this time. */
const RESOLUTION_MS = 1;

const isOfFallback = ({ source }) => source === 'fallback';
const never = [Infinity, Infinity];
/** A rule that allowed a request of several rules, of which another one denied it, has decided nothing. */
const isCounted = ({ allowed, refused }) => !(allowed && refused);
const isCharged = ({ allowed, refused }) => allowed && !refused;
/** After this time, a cost above a reservation whose call failed is charged, unless the machine is busy. */
const CHARGED_AGAIN_MS = 2000;

/**
 * One counter of the permits of a subject: Redis, or the memory of a process. `charges`: its charges, each with the time
 * in which it certainly counts and that in which it may count, `isDebt` for a cost above a reservation, which is charged
 * regardless of the limit, and `isLate` if that was charged later than it was settled; `requests`: the requests that it decided, in order;
 * `limitAt`: the limit at the time of a request; `bound`: the limit including what the fault adds; `lingering`: permits
 * that may be charged although no request used them.
 */
export function byRedis({ rule, lines, fault, lostCalls, processes }) {
  const { windowMs = Infinity, limit, prefetch } = rule;
  const requests = requestsIn(lines);
  // A request that waits is decided again under another name when a call failed meanwhile.
  const mayBeAgain = ({ process, sentAt, answeredAt }) =>
    rule.waits === true && lostCalls.mayHaveLost({ process, sentAt, endedAt: answeredAt });
  const windowEndOf = ({ answeredAt }) => answeredAt + windowMs + fault.lateMs;
  const taken = partsOf(
    requests.filter((request) => isCharged(request) && !isOfFallback(request)),
    lines,
  ).map(({ request, cost, returned, charged }) => {
    const { sentAt, answeredAt } = request;
    if (charged) {
      const isLate = lostCalls.mayHaveLost(charged);
      const from = isLate
        ? lostCalls.overAfter({ ...request, answeredAt: charged.endedAt }) + CHARGED_AGAIN_MS
        : charged.endedAt;
      const possibly = [charged.sentAt, windowEndOf(request)];
      const whole = { ...request, answeredAt: charged.endedAt };
      return { request: whole, cost, surely: [from, sentAt + windowMs], possibly, isDebt: true, isLate };
    }
    const surelyTo = Math.min(sentAt + windowMs, returned?.sentAt ?? Infinity);
    const windowEnd = windowEndOf(request);
    // A charge from before a step of the clock is not refunded.
    const mayReturn = returned && !fault.isClockSet;
    const endsBy = mayReturn ? Math.min(windowEnd, returnedBy(returned, lostCalls)) : windowEnd;
    const isReturned = endsBy < windowEnd;
    return { request, cost, surely: [answeredAt, surelyTo], possibly: [sentAt, endsBy], isReturned };
  });
  // A call without a reply may have been executed. Then its charge counts, or its permits are released.
  const lost = requests
    .filter((request) => isOfFallback(request) || mayBeAgain(request))
    .map((request) => {
      const over = lostCalls.overAfter(request);
      const to = rule.windowMs === undefined ? over : over + windowMs + fault.lateMs;
      return { request, cost: request.cost, surely: never, possibly: [request.sentAt, to], runBy: over };
    });
  const mostLost = sum(taken.filter(({ request }) => fault.mayLose(rule, request)));
  return {
    name: 'Redis',
    rule,
    fault,
    requests: requests.filter((request) => !isOfFallback(request) && isCounted(request)),
    charges: [...taken, ...lost],
    limitAt: () => limit,
    bound:
      mostInAWindow(rule, limit) * fault.windowsWithinOne(rule) +
      Math.min(limit, mostLost) +
      fault.permitsOfSteps(rule),
    lingering: (prefetch ? processes * prefetch.permits : 0) + fault.permitsOfSteps(rule),
  };
}

/** The requests that each process decided with its fallback: with its share of the limit, or without a limit. */
export function byFallback({ rule, lines, fault, processes, known }) {
  const { windowMs = Infinity, limit, fallback = 'local' } = rule;
  const shareAmong = (count) =>
    ({ local: Math.max(1, Math.floor(limit / count)), allow: Infinity, deny: 0 })[fallback];
  // When Redis has answered, all processes know of one another.
  const limitAt = ({ answeredAt }) => shareAmong(answeredAt > fault.to ? processes : known);
  const decided = requestsIn(lines).filter((request) => isOfFallback(request) && isCounted(request));
  return [...new Set(decided.map(({ process }) => process))].map((process) => {
    const requests = decided.filter((request) => request.process === process);
    const charges = partsOf(requests.filter(isCharged), lines).map(({ request, cost, returned, charged }) => {
      const { sentAt, answeredAt } = request;
      const surelyTo = Math.min(sentAt + windowMs - RESOLUTION_MS, returned?.sentAt ?? Infinity);
      const possiblyTo = Math.min(answeredAt + windowMs + RESOLUTION_MS, returned?.endedAt ?? Infinity);
      const { sentAt: from, endedAt: by } = charged ?? { sentAt, endedAt: answeredAt };
      return {
        request,
        cost,
        surely: [by, surelyTo],
        possibly: [from, possiblyTo],
        isDebt: charged !== undefined,
      };
    });
    return {
      name: `the fallback of process ${process}`,
      rule,
      requests,
      charges,
      limitAt,
      bound: mostInAWindow(rule, shareAmong(known)),
      lingering: 0,
    };
  });
}

/** The most permits in any window of a rule with a limit. */
function mostInAWindow({ windows = 1, burst = 0 }, limit) {
  return limit * windows + burst;
}

/** A settlement reports no result; a refund of it whose reply was lost may not have been made. */
function returnedBy(line, lostCalls) {
  const isLost = line.kind === 'settle' && lostCalls.mayHaveLost(line);
  return isLost ? Infinity : lostCalls.returnedBy(line);
}

/**
 * Divides requests into parts that are charged or returned at one time: `returned` is the line of its refund, `charged`
 * that of the settlement which charged more than was reserved.
 */
function partsOf(requests, lines) {
  const returns = returnsIn(lines);
  const settlements = new Map(
    lines.filter(({ kind }) => kind === 'settle').map((line) => [line.permit, line]),
  );
  return requests.flatMap((request) => {
    const { permit, cost } = request;
    const settled = settlements.get(permit);
    if (!settled) return [{ request, cost, returned: returns.get(permit) }];
    const parts = [{ request, cost: Math.min(cost, settled.cost) }];
    if (settled.cost < cost) parts.push({ request, cost: cost - settled.cost, returned: settled });
    if (settled.cost > cost) parts.push({ request, cost: settled.cost - cost, charged: settled });
    return parts;
  });
}

/** Returns the sum of the permits of charges. */
export function sum(charges) {
  return charges.reduce((total, { cost }) => total + cost, 0);
}

/** Returns the permits that may have counted while a request was decided, without its own. */
export function mostUsedAt({ charges }, { permit, sentAt, answeredAt, source }) {
  // A denial is cached for at most one second; a refund ends it sooner if its message arrives.
  const cachedMs = source === 'cache' ? 1000 : 0;
  return sum(
    charges.filter(({ request, possibly: [from, to], isReturned }) => {
      return from < answeredAt && to + (isReturned ? cachedMs : 0) > sentAt && request.permit !== permit;
    }),
  );
}

/** Whether a request may have been denied because the limit was used up. */
export function mayBeFull(side, request) {
  return mostUsedAt(side, request) + side.lingering + request.cost > side.limitAt(request);
}

export function requestsIn(lines) {
  return lines.filter(({ kind }) => kind === 'request').toSorted((a, b) => a.sentAt - b.sentAt);
}

export function returnsIn(lines) {
  return new Map(lines.filter(({ kind }) => kind === 'return').map((line) => [line.permit, line]));
}
