import { DEFAULT_ALGORITHM } from '../rules/rule.js';
import type { EffectiveField, EffectiveRule } from '../live/live-rules.js';
import { isLiveField } from '../nest/rules/live-layer.js';
import { whyNoPreview } from './preview/replayed-rule.js';
import type { SnapshotChange, SnapshotField, SnapshotRule } from './snapshot.js';
import { entryOf } from '../contracts/entry-of.js';

const LONGEST_VALUE = 1000;

/** What the page shows of a rule besides its figures. */
export type RuleView = Pick<
  SnapshotRule,
  'rule' | 'routes' | 'fields' | 'noPreview' | 'shadow' | 'change' | 'exceptions'
>;

/** Returns the rules that this process applies by their names, with the origin of each field. */
export function viewsOf(rules: readonly EffectiveRule[]): ReadonlyMap<string, RuleView> {
  const byName = new Map<string, EffectiveRule[]>();
  for (const each of rules) entryOf(byName, each.rule, () => []).push(each);
  return new Map(Array.from(byName, ([name, each]) => [name, viewOf(each)]));
}

function viewOf(rules: readonly EffectiveRule[]): RuleView {
  const [first] = rules as readonly [EffectiveRule];
  const { live, rule, exceptions } = first;
  const fields = Object.entries(first.fields).map(([name, field]) => shownField(name, field));
  const values = Object.entries(first.fields).map(([name, { value }]) => [name, value] as const);
  const isKnown = Object.hasOwn(first.fields, 'algorithm');
  const algorithm = { value: DEFAULT_ALGORITHM, from: 'the default' };
  return {
    rule,
    routes: [...new Set(rules.flatMap(({ route }) => route ?? []))],
    fields: isKnown ? fields : [...fields, shownField('algorithm', algorithm)],
    noPreview: whyNoPreview(Object.fromEntries(values)) ?? null,
    shadow: first.fields['mode']?.value === 'shadow',
    change: live
      ? { ...live, fields: live.fields as SnapshotChange['fields'], version: live.version ?? 0 }
      : null,
    exceptions: exceptions.length,
  };
}

function shownField(name: string, { value, from }: EffectiveField): SnapshotField {
  return {
    name,
    value: textOf(value).slice(0, LONGEST_VALUE),
    from,
    live: from.startsWith('live rule'),
    editable: isLiveField(name),
  };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'function' ? 'function' : (JSON.stringify(value) ?? '');
}
