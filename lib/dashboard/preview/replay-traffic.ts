import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Receipt } from '../../contracts/algorithm.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { refundIn, stepOf, type ReplayedCounter } from '../../rules/replay.js';
import type { Preview } from '../snapshot.js';
import type { RecordedRequest, RecordedTraffic } from './recorded-traffic.js';
import type { ReplayedRule } from './replayed-rule.js';

/** After so many moments, the event loop gets a turn, so that a preview delays no request for long. */
const REPLAYED_AT_ONCE = 500;

/** A request, or the refund or release of its permits. */
interface Moment {
  readonly at: number;
  readonly request: RecordedRequest;
  readonly isRefund: boolean;
}

/**
 * Replays requests in virtual time, by the algorithms of the package. Counters are empty before the first request. Permits
 * are refunded or released when they were. A denied request has no response: it keeps its permits, or holds them as long
 * as the others on average.
 *
 * @param ruleOf the rule on a route, by the hash of the route; `undefined` if it has none now
 * @param until end of the record, in milliseconds since the epoch
 */
export async function replayTraffic(
  { requests, depth }: RecordedTraffic,
  ruleOf: (route: number) => ReplayedRule | undefined,
  until: number,
): Promise<Preview> {
  const [now, then] = [new Replay(), new Replay()];
  const subjects = new Set<number>();
  const hold = meanHold(requests.filter(({ route }) => ruleOf(route)?.isHeld));
  const endOf = (request: RecordedRequest): number | undefined =>
    request.isDenied && hold !== undefined && ruleOf(request.route)?.isHeld
      ? request.at + hold
      : request.refundedAt;
  let [replayed, assumed] = [0, 0];
  for (const [nth, { at, request, isRefund }] of momentsOf(requests, endOf).entries()) {
    if (nth % REPLAYED_AT_ONCE === REPLAYED_AT_ONCE - 1) await nextTurn();
    const rule = ruleOf(request.route);
    const pair = rule?.of(request.resolved);
    if (!rule || !pair) continue;
    if (isRefund) {
      now.refund(request, at);
      then.refund(request, at);
      continue;
    }
    replayed += 1;
    subjects.add(request.subject);
    now.decide(request, pair.now, request.cost);
    const isAllowed = then.decide(request, pair.then, pair.costThen(request.cost));
    if ((rule.isConditional || rule.isHeld) && request.isDenied && isAllowed) assumed += 1;
  }
  return {
    requests: replayed,
    subjects: subjects.size,
    deniedNow: now.denied,
    deniedThen: then.denied,
    assumed,
    assumedHoldMs: hold ?? null,
    seconds: requests.length === 0 ? 0 : Math.max(1, Math.ceil((until - requests[0]!.at) / 1000)),
    sampled: 2 ** -depth,
  };
}

/** The mean time in milliseconds until requests released their permits; `undefined` if none has. */
function meanHold(requests: readonly RecordedRequest[]): number | undefined {
  const holds = requests.flatMap(({ at, refundedAt }) => (refundedAt === undefined ? [] : refundedAt - at));
  return holds.length === 0 ? undefined : holds.reduce((sum, each) => sum + each) / holds.length;
}

/** The requests, and the ends of their charges, in the order of time. */
function momentsOf(
  requests: readonly RecordedRequest[],
  endOf: (request: RecordedRequest) => number | undefined,
): readonly Moment[] {
  const moments = requests.flatMap((request): Moment[] => {
    const charge = { at: request.at, request, isRefund: false };
    const end = endOf(request);
    return end === undefined ? [charge] : [charge, { at: end, request, isRefund: true }];
  });
  return moments.sort((one, other) => one.at - other.at);
}

interface Charge {
  readonly rule: CompiledRule;
  readonly cost: number;
  readonly receipt: Receipt;
}

/** A replay of requests by one form of a rule. */
class Replay {
  denied = 0;
  private readonly counters = new Map<string, ReplayedCounter>();
  private readonly charges = new Map<RecordedRequest, Charge>();

  /** Returns whether the request is allowed. */
  decide(request: RecordedRequest, rule: CompiledRule, cost: number): boolean {
    const now = request.at * 1000;
    const lease = rule.algorithm.leases ? `${this.charges.size}` : undefined;
    const step = stepOf(rule, this.counterOf(request), now, lease, cost);
    if (step?.allowed) this.charges.set(request, { rule, cost, receipt: lease ?? now + step.resetAfter });
    else this.denied += 1;
    return step?.allowed === true;
  }

  refund(request: RecordedRequest, at: number): void {
    const charge = this.charges.get(request);
    if (charge) refundIn(charge.rule, this.counterOf(request), at * 1000, charge.cost, charge.receipt);
  }

  private counterOf({ route, subject }: RecordedRequest): ReplayedCounter {
    const key = `${route} ${subject}`;
    const known = this.counters.get(key);
    if (known) return known;
    const counter = { state: undefined, expiresAt: 0, blockedUntil: 0 };
    this.counters.set(key, counter);
    return counter;
  }
}
