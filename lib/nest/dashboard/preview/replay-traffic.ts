import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CompiledRule } from '../../../rules/compiled-rule.js';
import { refundIn, stepOf, type ReplayedCounter } from '../../../rules/replay.js';
import type { Preview } from '../snapshot.js';
import type { RecordedRequest, RecordedTraffic } from './recorded-traffic.js';
import type { ReplayedRule } from './replayed-rule.js';

/** After so many moments, the event loop gets a turn, so that a preview delays no request for long. */
const REPLAYED_AT_ONCE = 500;

/** A request, or the refund of its permits. */
interface Moment {
  readonly at: number;
  readonly request: RecordedRequest;
  readonly isRefund: boolean;
}

/**
 * Replays requests in virtual time, by the algorithms of the package. Counters are empty before the first request. Permits
 * are refunded when they were; a request without a known response keeps its permits.
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
  let [replayed, assumed] = [0, 0];
  for (const [nth, { at, request, isRefund }] of momentsOf(requests).entries()) {
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
    if (rule.isConditional && request.isDenied && isAllowed) assumed += 1;
  }
  return {
    requests: replayed,
    subjects: subjects.size,
    deniedNow: now.denied,
    deniedThen: then.denied,
    assumed,
    seconds: requests.length === 0 ? 0 : Math.max(1, Math.ceil((until - requests[0]!.at) / 1000)),
    sampled: 2 ** -depth,
  };
}

/** The requests and refunds in the order of time. */
function momentsOf(requests: readonly RecordedRequest[]): readonly Moment[] {
  const moments = requests.flatMap((request): Moment[] => {
    const { at, refundedAt } = request;
    const charge = { at, request, isRefund: false };
    return refundedAt === undefined ? [charge] : [charge, { at: refundedAt, request, isRefund: true }];
  });
  return moments.sort((one, other) => one.at - other.at);
}

interface Charge {
  readonly rule: CompiledRule;
  readonly cost: number;
  readonly expiresAt: number;
}

/** A replay of requests by one form of a rule. */
class Replay {
  denied = 0;
  private readonly counters = new Map<string, ReplayedCounter>();
  private readonly charges = new Map<RecordedRequest, Charge>();

  /** Returns whether the request is allowed. */
  decide(request: RecordedRequest, rule: CompiledRule, cost: number): boolean {
    const now = request.at * 1000;
    const step = stepOf(rule, this.counterOf(request), now, undefined, cost);
    if (!step?.allowed) this.denied += 1;
    else if (request.refundedAt !== undefined) {
      this.charges.set(request, { rule, cost, expiresAt: now + step.resetAfter });
    }
    return step?.allowed === true;
  }

  refund(request: RecordedRequest, at: number): void {
    const charge = this.charges.get(request);
    if (charge) refundIn(charge.rule, this.counterOf(request), at * 1000, charge.cost, charge.expiresAt);
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
