import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReplayedCounter } from '../../replay/counter.js';
import type { Preview } from '../snapshot.js';
import type { MergedTraffic, RecordedRequest } from '../collect/traffic-record.js';
import { entryOf } from '../../contracts/entry-of.js';
import { algorithmOf } from '../../rules/rule-fields.js';
import type { RuleFields } from '../../nest/rules/rule-layers.js';
import { ifValid } from '../../contracts/rate-limit-config.error.js';
import type { Resolved } from '../../rules/compiled-rule.js';
import { compileVaried } from '../../nest/rules/compile-varied.js';
import { resolvedFields } from '../../nest/rules/rule-changes.js';

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

/** Returns why changes of a rule have no preview, as a sentence; `undefined` if they have one. */
export function whyNoPreview(fields: RuleFields): string | undefined {
  if (fields['share'] !== undefined) {
    return 'A change of this rule has no preview: its subjects share one limit, and each counts by its weight, which is not recorded.';
  }
  if (fields['maxWait'] !== undefined && !algorithmOf(fields['algorithm']).delays) {
    return 'A change of this rule has no preview: its requests wait for permits, and their arrival is not recorded.';
  }
  return undefined;
}

const LONGEST_LEASE = '366d';

/** The current and the changed rule on one route. */
export type ReplayedRule = ReturnType<typeof replayedRule>;

/**
 * Returns the current and the changed rule on one route.
 *
 * @param current the fields with the live change that is in force
 * @param changed the fields with another one
 * @param exception the fields that all requests get then; `undefined` for the recorded exceptions
 * @throws RateLimitConfigError if the change does not fit
 */
export function replayedRule(current: RuleFields, changed: RuleFields, exception?: unknown) {
  const path = `rule "${String(changed['name'])}"`;
  const isHeld = algorithmOf(changed['algorithm']).leases === true;
  /** Requests state their costs, and processes renew the leases of permits until they are released. */
  const compiled = (fields: RuleFields) =>
    compileVaried({ ...fields, cost: 0, ...(isHeld && { lease: LONGEST_LEASE }) }, path);
  const pairOf = (resolved: Resolved = {}) => {
    const now = resolvedFields(current, resolved, path);
    const excepted = exception === undefined ? resolved : { ...resolved, exception };
    const then = resolvedFields(changed, excepted, path);
    const costThen = costChange(now['cost'] ?? 1, then['cost'] ?? 1);
    return { now: compiled(now), then: compiled(then), costThen };
  };
  const pairs = new Map<Resolved | undefined, ReturnType<typeof pairOf> | undefined>();
  compileVaried(changed, path);
  return {
    /** Whether requests count depending on their response. */
    isConditional: (changed['count'] ?? 'all') !== 'all',
    /** Whether requests hold their permits until they are released. */
    isHeld,
    /** Returns both rules of a request by what it determined; `undefined` if that is no rule any more. */
    of(resolved: Resolved | undefined) {
      const pair = () => ifValid(() => pairOf(resolved));
      if (!pairs.has(resolved)) pairs.set(resolved, pair());
      return pairs.get(resolved);
    },
  };
}

/** Returns a function that returns the cost that a request would have, of the cost that it had. */
function costChange(now: unknown, then: unknown): (cost: number) => number {
  if (typeof then === 'function') return (cost) => cost;
  return (cost) => (typeof now === 'function' || cost === now ? (then as number) : cost);
}
