import type { Next, Step } from '../../contracts/algorithm.js';
import { parseDuration, type Duration } from '../../contracts/duration.js';
import { allow, deny, NEVER, perProcess, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { durationOption, integer } from '../../contracts/options.js';
import { HeldPermits, isWaiting } from './held-permits.js';
import type { Holder } from './permit-table.js';

/** Options of `algorithm: 'concurrency'`, which has no window. */
export interface ConcurrencyOptions {
  /**
   * How long permits survive without renewal, up to 366 days. A process renews the permits that it holds, so this
   * is the time until the permits of a process that died are available again.
   * @default '30s'
   */
  readonly lease?: Duration;
  /**
   * How many holds of one subject can wait for permits at the same time, in all processes: an integer from 0 to 10,000.
   * A hold that finds the queue full is denied at once.
   * @default 1000
   */
  readonly queue?: number;
}

type ConcurrencyParameter = 'limit' | 'lease' | 'queue';

const DEFAULT_LEASE = 30e6;
const DEFAULT_QUEUE = 1000;
const MOST_HELD = 10_000;
const MOST_WAITING = 10_000;

/** Maximum number of permits of one lease: they are added and removed one by one, and no call moves more. */
export const MOST_AT_ONCE = 1000;

/** Number of holders or waiting requests that take as much memory as a key. */
const HOLDERS_PER_SIZE = 2;

/**
 * Concurrency: at most `limit` permits are held at any time. A permit is held under a name until it is released, or
 * until its lease ends because the holder has died. A late release frees no permit of another holder.
 *
 * A request that may wait is put in a queue, first come, first served: it is allowed with a delay, after which it is
 * sent again under the same name. Each time it is sent, its entry in the queue is renewed.
 */
export const concurrency: AlgorithmDefinition<ConcurrencyOptions, HeldPermits, ConcurrencyParameter> & {
  readonly leases: true;
} = {
  name: 'concurrency',
  version: 2,
  bound: 'at a time',
  examples: [
    { variant: '', rule: ({ windowMs }) => ({ lease: `${windowMs}ms`, queue: 100 }), keepsEntries: true },
  ],
  parameters: ['limit', 'lease', 'queue'],
  options: { lease: durationOption, queue: integer(0, MOST_WAITING) },
  check({ limit, cost = 1 }) {
    if (limit > MOST_HELD) return `limit is ${limit}; allowed: at most ${MOST_HELD} permits held at a time`;
    if (cost <= MOST_AT_ONCE) return undefined;
    return `cost is ${cost}; allowed with concurrency: at most ${MOST_AT_ONCE} permits for one holder`;
  },
  perProcess: ({ queue = DEFAULT_QUEUE }, processes) => ({ queue: perProcess(queue, processes) }),
  compile: ({ limit, lease, queue = DEFAULT_QUEUE }) => ({
    limit,
    lease: parseDuration(lease) ?? DEFAULT_LEASE,
    queue,
  }),
  leases: true,

  step(state, instant, cost, parameters, maxWait = 0, name = '') {
    const { limit, lease } = parameters;
    if (limit === 0) return NEVER;

    const holders = (state ?? HeldPermits.none()).at(instant);
    const now = holders.timeOf(instant);
    if (cost > 0 && cost <= Math.min(limit, MOST_AT_ONCE) && maxWait > 0 && maxWait < Infinity) {
      return stepInTurn(holders, now, { name, permits: cost, endsAt: now + lease }, parameters);
    }
    const held = holders.count(now);
    const waiting = holders.countWaiting(now);
    const remaining = leftBehindQueue(holders, now, Math.max(0, limit - held), name);
    const heldFor = holders.lastEnd(now) - now;

    if (cost > MOST_AT_ONCE || (cost > remaining && maxWait < Infinity)) {
      if (cost > Math.min(limit, MOST_AT_ONCE)) return deny(remaining, null, heldFor);
      return deny(remaining, untilFree(holders, now, waiting, held + cost - limit, lease), heldFor);
    }

    const keptFor = holders.lastEndOfAll(now) - now;
    if (cost === 0) return allow(remaining, 0, heldFor, holders, keptFor);
    const next = holders.put({ name, permits: cost, endsAt: now + lease }, now);
    return allow(Math.max(0, remaining - cost), 0, Math.max(heldFor, lease), next, Math.max(keptFor, lease));
  },

  refund(state, instant, _cost, parameters, receipt) {
    const holders = state.at(instant);
    const now = holders.timeOf(instant);
    return next(holders.remove(String(receipt), now, parameters), now);
  },

  renew(state, instant, { lease }, name) {
    const holders = state.at(instant);
    const now = holders.timeOf(instant);
    return next(holders.renew(name, now, now + lease), now);
  },

  isAhead: (state, instant) => state.isAhead(instant),

  sizeOf: (state) => 2 + Math.floor(state.size / HOLDERS_PER_SIZE),
};

/** Decides a request that may wait: it is in the queue until it gets its permits. */
function stepInTurn(
  holders: HeldPermits,
  now: number,
  asker: Holder,
  parameters: Numbers<ConcurrencyParameter>,
): Step<HeldPermits> {
  const { limit, lease, queue } = parameters;
  const { name, permits: cost } = asker;
  const free = limit - holders.count(now);
  const waiting = holders.countWaiting(now);
  const heldFor = holders.lastEnd(now) - now;
  const resetAfter = Math.max(heldFor, lease);
  const keptFor = Math.max(holders.lastEndOfAll(now) - now, lease);
  const enter = (holder: Holder, remaining: number, delay: number): Step<HeldPermits> => {
    const state = holders.enter(holder, now, parameters, delay === 0);
    return { ...allow(remaining, delay, resetAfter, state, keptFor), granted: state.granted };
  };
  const own = holders.get(name, now);
  if (own) return enter(asker, waiting > 0 ? 0 : Math.max(0, free), 0);

  const place = holders.place(name);
  const others = waiting - (isWaiting(place, now) ? 1 : 0);
  const { isReached, left, reached, blockedUntil } = holders.reach(now, free, name);
  if (isReached && cost <= left) return enter(asker, others > reached ? 0 : left - cost, 0);
  if (!place && waiting >= queue) {
    return deny(0, untilFree(holders, now, waiting, cost - free, lease), heldFor);
  }
  const ahead = Math.min(holders.ahead(name), others);
  let delay = freeAfter(holders, now, ahead + cost - free, lease);
  if (cost <= free) delay = Math.min(delay, blockedUntil - now);
  return enter(place ? { ...asker, permits: place.permits } : asker, 0, delay);
}

/** Returns the free permits that the queue leaves over; 0 if it needs all of them. */
function leftBehindQueue(holders: HeldPermits, now: number, free: number, name: string): number {
  const { isReached, left } = holders.reach(now, free, name);
  return isReached ? left : 0;
}

/** Returns the time until some permits are free, or a place in the queue, if permits are freed only by the end of leases. */
function untilFree(holders: HeldPermits, now: number, waiting: number, need: number, lease: number): number {
  // By then, every request that waits now has got its permits or left the queue.
  if (waiting > 0) return holders.lastEnd(now) - now + lease;
  return freeAfter(holders, now, need, lease);
}

/** Estimates the time until some permits are free, if permits are freed only by the end of leases. */
function freeAfter(holders: HeldPermits, now: number, needed: number, lease: number): number {
  return Math.max(1, needed) > holders.count(now)
    ? holders.lastEnd(now) - now + lease
    : holders.freeingEnd(now, needed) - now;
}

function next(state: HeldPermits | undefined, now: number): Next<HeldPermits> | undefined {
  return state && { state, expiresAfter: state.lastEndOfAll(now) - now, granted: state.granted };
}
