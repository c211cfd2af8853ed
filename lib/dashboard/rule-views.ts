import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DEFAULT_ALGORITHM } from '../rules/rule.js';
import type { EffectiveField, EffectiveRule } from '../live/listed-rule.js';
import { LiveState } from '../live/live-state.js';
import { RateLimitService } from '../nest/rate-limit.service.js';
import { isLiveField } from '../nest/rules/live-layer.js';
import { whyNoPreview } from './preview/replayed-rule.js';
import type { SnapshotChange, SnapshotField, SnapshotRule } from './snapshot.js';

/** Routes may be found later: the rules are listed again after this time, and after each live change. */
const LISTED_FOR_MS = 5000;
const LONGEST_VALUE = 1000;

/** What the page shows of a rule besides its figures. */
export type RuleView = Pick<
  SnapshotRule,
  'rule' | 'routes' | 'fields' | 'noPreview' | 'shadow' | 'change' | 'exceptions'
>;

/** The rules that this process applies, with the origin of each field. */
@Injectable()
export class RuleViews implements OnModuleInit {
  private listed: { readonly at: number; readonly rules: readonly RuleView[] } | undefined;

  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(LiveState) private readonly state: LiveState,
  ) {}

  onModuleInit(): void {
    this.state.watch(() => (this.listed = undefined));
  }

  /** The rules by name. */
  all(): readonly RuleView[] {
    const now = performance.now();
    if (!this.listed || now - this.listed.at > LISTED_FOR_MS) {
      this.listed = { at: now, rules: this.list() };
    }
    const age = now - this.listed.at;
    return this.listed.rules.map((view) => aged(view, age));
  }

  private list(): readonly RuleView[] {
    const byName = new Map<string, EffectiveRule[]>();
    for (const rule of this.limits.rules.list())
      byName.set(rule.rule, [...(byName.get(rule.rule) ?? []), rule]);
    const views = Array.from(byName, ([name, rules]) =>
      viewOf(rules, this.state.changesOf(name)?.exceptions.length ?? 0),
    );
    return views.sort((one, other) => (one.rule < other.rule ? -1 : 1));
  }
}

function viewOf(rules: readonly EffectiveRule[], exceptions: number): RuleView {
  const [first] = rules as readonly [EffectiveRule];
  const { live, rule } = first;
  const fields = Object.entries(first.fields).map(([name, field]) => shownField(name, field));
  const isKnown = Object.hasOwn(first.fields, 'algorithm');
  const algorithm = { value: DEFAULT_ALGORITHM, from: 'the default' };
  return {
    rule,
    routes: [...new Set(rules.flatMap(({ route }) => route ?? []))],
    fields: isKnown ? fields : [...fields, shownField('algorithm', algorithm)],
    noPreview: whyNoPreview(valuesOf(first)) ?? null,
    shadow: first.fields['mode']?.value === 'shadow',
    change: live
      ? { ...live, fields: live.fields as SnapshotChange['fields'], version: live.version ?? 0 }
      : null,
    exceptions,
  };
}

function valuesOf({ fields }: EffectiveRule): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));
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

function aged(view: RuleView, ageMs: number): RuleView {
  const { change } = view;
  if (change?.expiresInMs === undefined) return view;
  return {
    ...view,
    change: { ...change, expiresInMs: Math.max(0, Math.round(change.expiresInMs - ageMs)) },
  };
}
