import type { SourcedRule } from '../contracts/rule-source.js';
import type { HeldRule } from '../nest/rules/rule-changes.js';
import { originsOf } from '../nest/rules/rule-layers.js';
import type { TableRule } from '../nest/rules/rule-table.js';

/** A field of a rule with its value, and the layer that it comes from. */
export interface EffectiveField {
  /** Value of the field. */
  readonly value: unknown;
  /** Such as `rules.login`, `@RateLimit on LoginController.login`, `overrides.login.limit` or `live rule "login"`. */
  readonly from: string;
}

/** A rule as this process applies it. */
export interface EffectiveRule {
  /** Name of the rule. */
  readonly rule: string;
  /** The route that the rule applies to; absent for the rule of the module's options. */
  readonly route?: string;
  /** Its fields by name, without those that have their default. */
  readonly fields: Readonly<Record<string, EffectiveField>>;
  /** Its live change. Absent if it has none. */
  readonly live?: SourcedRule;
  /** Its exceptions for single subjects. */
  readonly exceptions: readonly SourcedRule[];
}

/** Returns a rule of the table as programs list it. */
export function effective({ name: rule, owner, changes, current: { fields } }: TableRule): EffectiveRule {
  const origins = originsOf(fields);
  const entries = Object.entries(fields)
    .filter(([field]) => field !== 'name')
    .map(([field, value]) => [field, { value, from: origins[field] ?? 'the default' }] as const);
  const live = changes?.layer;
  return {
    rule,
    ...(owner !== undefined && { route: owner }),
    fields: Object.fromEntries(entries),
    ...(live && { live: shown(live) }),
    exceptions: (changes?.exceptions ?? []).map(shown),
  };
}

function shown({ until, expiresInMs: _loaded, ...entry }: HeldRule): SourcedRule {
  return until === Infinity
    ? entry
    : { ...entry, expiresInMs: Math.max(0, Math.ceil(until - performance.now())) };
}
