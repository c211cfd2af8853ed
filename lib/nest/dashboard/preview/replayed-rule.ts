import { UnprocessableEntityException } from '@nestjs/common';
import type { CompiledRule } from '../../../rules/compiled-rule.js';
import { stepOf, type ReplayedCounter } from '../../../rules/replay.js';
import { changedFields, type RuleChanges } from '../../live/change-of-rule.js';
import { dynamicFields, sampleOf } from '../../request/per-request-rule.js';
import type { RuleFields } from '../../rules/rule-layers.js';
import type { Preview } from '../snapshot.js';
import type { RecordedTraffic } from './traffic-record.js';

/** A rule as it is and as it would be, on one route. */
export interface ReplayedRule {
  readonly now: CompiledRule;
  readonly then: CompiledRule;
}

/**
 * Returns a rule with a live change in place of the one that it has.
 *
 * @param declared the fields in the code
 * @param current the fields with the live change that is in force
 * @throws RateLimitConfigError if the change does not fit
 * @throws UnprocessableEntityException if the result depends on more than what is recorded
 */
export function replayedRule(declared: RuleFields, current: RuleFields, change: RuleChanges): ReplayedRule {
  const path = `rule "${String(declared['name'])}"`;
  const changed = changedFields(declared, change);
  const now = sampleOf(current, path);
  const dynamic = dynamicFields(changed);
  const unknown = [
    ...dynamic.map((field) => `\`${field}\` is a function`),
    ...(changed['plan'] === undefined ? [] : ['it has plans']),
    ...((changed['count'] ?? 'all') === 'all' ? [] : ['`count` depends on the response']),
    ...(now.algorithm.leases ? ['permits are held'] : []),
    ...(now.bySubject ? ['its subjects share one limit (`share`)'] : []),
  ];
  if (unknown.length === 0) return { now, then: sampleOf(changed, path) };
  throw new UnprocessableEntityException(`${path} has no preview: ${unknown.join(', ')}.`);
}

/**
 * Replays requests in virtual time, by the algorithms of the package. Counters are empty before the first request.
 *
 * @param ruleOf the rule on a route, by the hash of the route; `undefined` if it has none now
 * @param until end of the record, in milliseconds since the epoch
 */
export function replayTraffic(
  { requests, depth }: RecordedTraffic,
  ruleOf: (route: number) => ReplayedRule | undefined,
  until: number,
): Preview {
  const counters = new Map<string, { readonly now: ReplayedCounter; readonly then: ReplayedCounter }>();
  const subjects = new Set<number>();
  let [replayed, deniedNow, deniedThen] = [0, 0, 0];
  for (const { at, subject, route, cost } of requests) {
    const rule = ruleOf(route);
    if (!rule) continue;
    replayed += 1;
    subjects.add(subject);
    const key = `${route} ${subject}`;
    const counter = counters.get(key) ?? { now: newCounter(), then: newCounter() };
    counters.set(key, counter);
    const newCost = cost === rule.now.cost ? rule.then.cost : cost;
    if (!stepOf(rule.now, counter.now, at * 1000, undefined, cost)?.allowed) deniedNow += 1;
    if (!stepOf(rule.then, counter.then, at * 1000, undefined, newCost)?.allowed) deniedThen += 1;
  }
  const seconds = requests.length === 0 ? 0 : Math.max(1, Math.ceil((until - requests[0]!.at) / 1000));
  return {
    requests: replayed,
    subjects: subjects.size,
    deniedNow,
    deniedThen,
    seconds,
    sampled: 2 ** -depth,
  };
}

function newCounter(): ReplayedCounter {
  return { state: undefined, expiresAt: 0, blockedUntil: 0 };
}
