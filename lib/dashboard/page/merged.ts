import {
  CHART_S,
  chartStart,
  RULE_CHART_S,
  type RuleUpdate,
  type Snapshot,
  type SnapshotRule,
  type SnapshotSecond,
  type SnapshotUpdate,
} from '../snapshot.js';

/** Returns a snapshot with an update. */
export function merged(before: Snapshot, update: SnapshotUpdate): Snapshot {
  const { rules, seconds, removed, ...others } = update;
  const byName = new Map(before.rules.map((rule) => [rule.rule, rule]));
  for (const name of removed) byName.delete(name);
  for (const rule of rules) byName.set(rule.rule, mergedRule(byName.get(rule.rule), rule));
  return {
    ...before,
    ...others,
    seconds: mergedSeconds(before.seconds, seconds, chartStart(update.at, CHART_S)),
    rules: [...byName.values()]
      .map((rule) => ({ ...rule, seconds: since(rule.seconds, chartStart(update.at, RULE_CHART_S)) }))
      .sort((one, other) => (one.rule < other.rule ? -1 : 1)),
  };
}

/** An update has all of a new rule. */
function mergedRule(before: SnapshotRule | undefined, update: RuleUpdate): SnapshotRule {
  const seconds = mergedSeconds(before?.seconds ?? [], update.seconds, 0);
  return { ...before, ...(update as SnapshotRule), seconds };
}

function mergedSeconds(
  before: readonly SnapshotSecond[],
  changes: readonly SnapshotSecond[],
  start: number,
): readonly SnapshotSecond[] {
  const byTime = new Map(before.map((second) => [second.at, second]));
  for (const second of changes) byTime.set(second.at, second);
  const seconds = [...byTime.values()].filter(({ allowed, denied }) => allowed + denied > 0);
  return since(seconds, start).sort((one, other) => one.at - other.at);
}

function since(seconds: readonly SnapshotSecond[], start: number): SnapshotSecond[] {
  return seconds.filter(({ at }) => at >= start);
}
