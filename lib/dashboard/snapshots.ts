import { Inject, Injectable } from '@nestjs/common';
import type { SourcedRule } from '../contracts/rule-source.js';
import { EVERYONE } from '../http/subject.js';
import { RateLimitService } from '../nest/rate-limit.service.js';
import { MINUTE_MS, type MinuteCounts } from './collect/counts.js';
import { ProcessReports } from './collect/process-reports.js';
import type { AllReports } from './collect/report-reader.js';
import { ruleTotals, totalsOf, type RuleTotals, problemsOf, processOf } from './collect/totals.js';
import { DASHBOARD_OPTIONS, type DashboardOptions } from './dashboard.options.js';
import type { Snapshot, SnapshotLive, SnapshotRule, SnapshotChange, SnapshotField } from './snapshot.js';
import { namedSubject, shownLive, subjectOfText } from './collect/masked.js';
import { RemainingPermits } from './subjects/remaining-permits.js';
import { DEFAULT_ALGORITHM } from '../rules/rule.js';
import type { EffectiveField, EffectiveRule } from '../nest/live-rules.js';
import { isLiveField } from '../nest/rules/live-layer.js';
import { entriesOf } from '../nest/rules/rule-table.js';
import { entryOf } from '../contracts/entry-of.js';
import { whyNoPreview } from './preview/replay-traffic.js';

/** Makes what the page shows. */
@Injectable()
export class Snapshots {
  constructor(
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(RemainingPermits) private readonly remaining: RemainingPermits,
    @Inject(DASHBOARD_OPTIONS) private readonly options: DashboardOptions,
  ) {}

  async make(): Promise<Snapshot> {
    const all = await this.processes.all();
    const at = this.processes.collector.clock();
    const second = Math.floor(at / 1000) + 1;
    const { rules, uncounted, ...totals } = totalsOf(all.reports, second);
    const { readOnly = false, actions = [], unmask } = this.options;
    const alive = this.limits.instanceCount;
    const loss = this.lossOf(all);
    const live = this.limits.rules.source?.write !== undefined;
    return {
      at,
      from: this.processes.records ? 'redis' : 'memory',
      problems: problemsOf(all, alive, uncounted, loss?.reason),
      allUntil: all.outage?.at ?? null,
      readOnly,
      live,
      unmask,
      loss,
      alive,
      processes: all.reports
        .filter(({ hasEnded }) => !hasEnded)
        .map((report) => processOf(report, at))
        .sort((one, other) => (one.id < other.id ? -1 : 1)),
      minutes: all.minutes.map(({ minute, all: [allowed, denied, fallback] }) => {
        return { at: minute * MINUTE_MS, allowed, denied, fallback };
      }),
      ...totals,
      rules: await this.rulesOf(rules, all, live && !readOnly),
      actions: readOnly ? [] : actions.map(({ id, label }) => ({ id, label })),
    };
  }

  private lossOf({ secret }: AllReports): Snapshot['loss'] {
    const { loss } = this.limits.rules;
    if (!loss) return null;
    const shown = ({ rule, subject, fields }: SourcedRule): SnapshotLive =>
      shownLive(secret, { rule, subject, fields });
    const { at, reason, stored } = loss;
    const inForce = [...this.limits.table.changes.values()].flatMap(entriesOf);
    return { at, reason, inForce: inForce.map(shown), stored: stored.map(shown) };
  }

  private async rulesOf(
    totals: ReadonlyMap<string, RuleTotals>,
    { secret, minutes }: AllReports,
    editable: boolean,
  ): Promise<readonly SnapshotRule[]> {
    const views = viewsOf(this.limits.rules.list());
    const names = [...new Set([...views.keys(), ...totals.keys()])].sort();
    const asked = names.flatMap((rule) =>
      (totals.get(rule)?.top ?? []).map(([subject, , , route]) => ({ rule, subject, route })),
    );
    const permits = await this.remaining.of(asked);
    const none = ruleTotals([], 0);
    let next = 0;
    return names.map((rule) => {
      const view = views.get(rule);
      const { top, ...figures } = totals.get(rule) ?? none;
      const countsAll = view?.fields.some(({ name, value }) => name === 'by' && value === EVERYONE);
      const subjects = top.map(([element, denied, error]) => {
        const named = namedSubject(secret, rule, subjectOfText(element));
        return { ...named, ...(countsAll && { subject: EVERYONE }), denied, error, ...permits[next++]! };
      });
      return {
        ...(view ?? { ...UNKNOWN, rule }),
        editable: editable && view !== undefined,
        ...figures,
        minutes: minutesOf(rule, minutes),
        top: subjects,
      };
    });
  }
}

function minutesOf(rule: string, minutes: readonly MinuteCounts[]): SnapshotRule['minutes'] {
  return minutes.flatMap(({ minute, rules: { [rule]: counts } }) =>
    counts ? { at: minute * MINUTE_MS, allowed: counts[0], denied: counts[1] } : [],
  );
}

/** A rule of programs, or of another version of the application. */
const UNKNOWN = { routes: [], fields: [], noPreview: null, shadow: false, change: null, exceptions: 0 };

const LONGEST_VALUE = 1000;

/** The algorithm of a rule that states none. */
const ALGORITHM: EffectiveField = { value: DEFAULT_ALGORITHM, from: 'the default' };

/** What the page shows of a rule besides its figures. */
type RuleView = ReturnType<typeof viewOf>;

/** Returns the rules that this process applies by their names, with the origin of each field. */
function viewsOf(rules: readonly EffectiveRule[]): ReadonlyMap<string, RuleView> {
  const byName = new Map<string, EffectiveRule[]>();
  for (const each of rules) entryOf(byName, each.rule, () => []).push(each);
  return new Map(Array.from(byName, ([name, each]) => [name, viewOf(each)]));
}

function viewOf(rules: readonly EffectiveRule[]) {
  const [first] = rules as readonly [EffectiveRule];
  const { live, rule, exceptions } = first;
  const all = rules.map(({ fields }) => ({ ...fields, algorithm: fields['algorithm'] ?? ALGORITHM }));
  const values = Object.entries(first.fields).map(([name, { value }]) => [name, value] as const);
  return {
    rule,
    routes: [...new Set(rules.flatMap(({ route }) => route ?? []))],
    fields: Object.keys(all[0]!).map((name) => shownField(name, all)),
    noPreview: whyNoPreview(Object.fromEntries(values)) ?? null,
    shadow: first.fields['mode']?.value === 'shadow',
    change: live
      ? { ...live, fields: live.fields as SnapshotChange['fields'], version: live.version ?? 0 }
      : null,
    exceptions: exceptions.length,
  };
}

/** @param all the fields of the rule on each route */
function shownField(name: string, all: readonly EffectiveRule['fields'][]): SnapshotField {
  const { value, from } = all[0]![name]!;
  const text = textOf(value);
  return {
    name,
    value: text.slice(0, LONGEST_VALUE),
    differs: all.some((each) => textOf(each[name]?.value) !== text),
    from,
    live: from.startsWith('live rule'),
    editable: isLiveField(name),
  };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'function' ? 'function' : (JSON.stringify(value) ?? '');
}
