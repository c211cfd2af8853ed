import { CHART_S, chartStart, RULE_CHART_S } from '../chart-lengths.js';
import type { RuleUpdate, Snapshot, SnapshotRule, SnapshotSecond, SnapshotUpdate } from '../snapshot.js';

/** Returns what differs between two snapshots of a stream. */
export function updateOf(before: Snapshot, after: Snapshot): SnapshotUpdate {
  const { rules: rulesBefore, seconds: secondsBefore, ...othersBefore } = before;
  const { rules, seconds, ...others } = after;
  const known = new Map(rulesBefore.map((rule) => [rule.rule, rule]));
  const names = new Set(rules.map(({ rule }) => rule));
  return {
    ...changed(othersBefore, others),
    at: after.at,
    seconds: changedSeconds(secondsBefore, seconds, chartStart(after.at, CHART_S)),
    rules: rules.flatMap((rule) => ruleUpdate(known.get(rule.rule), rule, after.at) ?? []),
    removed: [...known.keys()].filter((name) => !names.has(name)),
  };
}

function ruleUpdate(
  before: SnapshotRule | undefined,
  after: SnapshotRule,
  now: number,
): RuleUpdate | undefined {
  if (!before) return after;
  const { seconds: secondsBefore, ...othersBefore } = before;
  const { seconds, ...others } = after;
  const fields = changed(othersBefore, others);
  const changes = changedSeconds(secondsBefore, seconds, chartStart(now, RULE_CHART_S));
  if (Object.keys(fields).length + changes.length === 0) return undefined;
  return { ...fields, rule: after.rule, seconds: changes };
}

/** Returns the properties with another value. */
function changed<Item extends object>(before: Item, after: Item): Partial<Item> {
  const entries = Object.entries(after) as [keyof Item, unknown][];
  const differs = ([name, value]: [keyof Item, unknown]): boolean =>
    before[name] !== value && JSON.stringify(before[name]) !== JSON.stringify(value);
  return Object.fromEntries(entries.filter(differs)) as Partial<Item>;
}

/** Returns the seconds since a time with other figures. A second that is absent has no requests. */
function changedSeconds(
  before: readonly SnapshotSecond[],
  after: readonly SnapshotSecond[],
  since: number,
): readonly SnapshotSecond[] {
  const known = new Map(before.map((second) => [second.at, second]));
  const current = new Set(after.map(({ at }) => at));
  const gone = before.filter(({ at }) => at >= since && !current.has(at));
  const differs = ({ at, allowed, denied }: SnapshotSecond): boolean => {
    const second = known.get(at);
    return second?.allowed !== allowed || second.denied !== denied;
  };
  return [...after.filter(differs), ...gone.map(({ at }) => ({ at, allowed: 0, denied: 0 }))];
}
