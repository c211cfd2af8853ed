import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReplayedCounter } from '../../replay/counter.js';
import type { Preview } from '../snapshot.js';
import type { MergedTraffic, RecordedRequest } from './traffic-record.js';
import type { ReplayedRule } from './replayed-rule.js';
import { entryOf } from '../../contracts/entry-of.js';

/** After so many requests, the event loop gets a turn, so that a preview delays no request for long. */
const REPLAYED_AT_ONCE = 250;

/**
 * Replays requests in virtual time. Counters are empty before the first request. Permits are refunded or released when
 * they were. A denied request has no response: it keeps its permits, or holds them as long as the others on average.
 *
 * @param ruleOf the rule on a route, by the hash of the route; `undefined` if it has none now
 * @param until end of the record, in milliseconds since the epoch
 */
export async function replayTraffic(
  { requests, depth }: MergedTraffic,
  ruleOf: (route: number) => ReplayedRule | undefined,
  until: number,
): Promise<Preview> {
  const counters = new Map<string, readonly [now: ReplayedCounter, then: ReplayedCounter]>();
  const subjects = new Set<number>();
  const hold = meanHold(requests.filter(({ route }) => ruleOf(route)?.isHeld));
  let [replayed, recorded, assumed] = [0, 0, 0];
  for (const [nth, { at, subject, route, resolved, cost, isDenied, refundedAt }] of requests.entries()) {
    if (nth % REPLAYED_AT_ONCE === REPLAYED_AT_ONCE - 1) await nextTurn();
    const rule = ruleOf(route);
    const pair = rule?.of(resolved);
    if (!rule || !pair) continue;
    replayed += 1;
    if (isDenied) recorded += 1;
    subjects.add(subject);
    const key = `${route} ${subject}`;
    const [now, then] = entryOf(counters, key, () => [new ReplayedCounter(), new ReplayedCounter()]);
    const end = isDenied && rule.isHeld && hold !== undefined ? at + hold : refundedAt;
    const endsAt = end && end * 1000;
    now.decide(pair.now, at * 1000, endsAt, cost);
    const step = then.decide(pair.then, at * 1000, endsAt, pair.costThen(cost));
    if ((rule.isConditional || rule.isHeld) && isDenied && step?.allowed) assumed += 1;
  }
  const deniedBy = (form: 0 | 1) => [...counters.values()].reduce((sum, each) => sum + each[form].denied, 0);
  return {
    requests: replayed,
    subjects: subjects.size,
    deniedRecorded: recorded,
    deniedNow: deniedBy(0),
    deniedThen: deniedBy(1),
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
