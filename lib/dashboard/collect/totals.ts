import {
  CHART_S,
  RULE_CHART_S,
  type BreakerState,
  type Snapshot,
  type SnapshotRule,
  type SnapshotSecond,
} from '../snapshot.js';
import { SOURCES } from './collector.js';
import { percentile, sum } from './durations.js';
import type { ProcessReport, RuleReport } from './process-report.js';
import { RATE_S } from './rule-counts.js';
import { mergeFrequent, type CountedElement } from './space-saving.js';

const MOST_SUBJECTS = 10;
const BAD_TO_WORSE: readonly BreakerState[] = ['closed', 'half-open', 'open'];

/** The figures of a rule in all processes. */
export interface RuleTotals extends Pick<
  SnapshotRule,
  'allowed' | 'denied' | 'wouldDeny' | 'trialDeny' | 'seconds' | 'byRoute'
> {
  readonly top: readonly CountedElement[];
}

/** The figures of all processes. */
export interface Totals extends Pick<Snapshot, 'seconds' | 'latency' | 'shares' | 'servers'> {
  readonly rules: ReadonlyMap<string, RuleTotals>;
  /** Results per second of rules that are not in `rules`. */
  readonly uncounted: number;
}

/** The report of one rule, of one process. */
interface Part extends RuleReport {
  readonly second: number;
  readonly span: number;
}

/**
 * Adds the reports of processes.
 *
 * @param second the second after the last one to show
 */
export function totalsOf(reports: readonly ProcessReport[], second: number): Totals {
  const byRule = new Map<string, Part[]>();
  for (const { second: end, span, rules } of reports) {
    for (const each of rules) {
      byRule.set(each.rule, [...(byRule.get(each.rule) ?? []), { ...each, second: end, span }]);
    }
  }
  const durations = reports.flatMap((report) => report.durations);
  const p50 = percentile(durations, 0.5);
  return {
    seconds: secondsOf(reports, second, CHART_S),
    latency: p50 === undefined ? null : { p50, p99: percentile(durations, 0.99)! },
    shares: sharesOf(reports),
    servers: serversOf(reports),
    rules: new Map(Array.from(byRule, ([rule, parts]) => [rule, ruleTotals(parts, second)])),
    uncounted: sum(reports.map(({ uncounted, span }) => uncounted / span)),
  };
}

/** Returns the figures of a rule; those without requests if it has no parts. */
export function ruleTotals(parts: readonly Part[], second: number): RuleTotals {
  const rate = (count: (part: Part) => number): number => sum(parts.map((part) => count(part) / part.span));
  return {
    allowed: rate(({ allowed }) => sum(allowed.slice(-RATE_S))),
    denied: rate(({ denied }) => sum(denied.slice(-RATE_S))),
    wouldDeny: rate((part) => part.wouldDeny),
    trialDeny: rate((part) => part.trialDeny),
    seconds: secondsOf(parts, second, RULE_CHART_S),
    byRoute: byRouteOf(parts),
    top: mergeFrequent(parts, MOST_SUBJECTS).top,
  };
}

function secondsOf(
  lists: readonly Pick<Part, 'second' | 'allowed' | 'denied'>[],
  second: number,
  length: number,
): SnapshotSecond[] {
  const seconds: SnapshotSecond[] = [];
  for (let at = second - length; at < second; at += 1) {
    const allowed = sum(lists.map((list) => list.allowed[at - list.second + list.allowed.length] ?? 0));
    const denied = sum(lists.map((list) => list.denied[at - list.second + list.denied.length] ?? 0));
    if (allowed + denied > 0) seconds.push({ at: at * 1000, allowed, denied });
  }
  return seconds;
}

function byRouteOf(parts: readonly Part[]): SnapshotRule['byRoute'] {
  const routes = new Map<string, { route: string; allowed: number; denied: number }>();
  for (const { routes: counts, span } of parts) {
    for (const [route, allowed, denied] of counts) {
      const known = routes.get(route) ?? { route, allowed: 0, denied: 0 };
      known.allowed += allowed / span;
      known.denied += denied / span;
      routes.set(route, known);
    }
  }
  return [...routes.values()].sort(
    (one, other) =>
      other.allowed + other.denied - one.allowed - one.denied || (one.route < other.route ? -1 : 1),
  );
}

function sharesOf(reports: readonly ProcessReport[]): Snapshot['shares'] {
  const counts = SOURCES.map((_, index) => sum(reports.map(({ sources }) => sources[index] ?? 0)));
  const all = Math.max(1, sum(counts));
  const share = (index: number): number => counts[index]! / all;
  return { store: share(0), cache: share(1), prefetched: share(2), fallback: share(3) };
}

function serversOf(reports: readonly ProcessReport[]): Snapshot['servers'] {
  const worst = new Map<string, BreakerState>();
  for (const [server, state] of reports.flatMap(({ servers }) => servers)) {
    const known = worst.get(server) ?? 'closed';
    worst.set(server, BAD_TO_WORSE.indexOf(state) > BAD_TO_WORSE.indexOf(known) ? state : known);
  }
  return Array.from(worst, ([server, state]) => ({ server, state }));
}
