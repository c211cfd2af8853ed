import { CHART_S, RATE_S, RULE_CHART_S, type BreakerState, type Snapshot } from '../snapshot.js';
import { SOURCES, FALLBACK } from './collector.js';
import { type ProcessReport, type RuleReport, LONGEST_FIGURES } from './process-report.js';
import { type SeenReport, SILENT_MS, type AllReports } from './report-reader.js';
import { mergeFrequent } from './space-saving.js';
import { entryOf } from '../../contracts/entry-of.js';
import { MOST_RULES, percentile, sum } from './counts.js';
import { MOST_READ } from '../../stores/redis/link/process-records.js';

const MOST_SUBJECTS = 10;

/** The figures of a rule in all processes. */
export type RuleTotals = ReturnType<typeof ruleTotals>;

/** The report of one rule, of one process. */
interface Part extends RuleReport, Pick<SeenReport, 'second' | 'span' | 'isCurrent'> {}

/**
 * Adds the reports of processes. Those of processes that have ended or are silent count in the seconds until then, but in no
 * rate of now.
 *
 * @param second the second after the last one to show
 */
export function totalsOf(reports: readonly SeenReport[], second: number) {
  const byRule = new Map<string, Part[]>();
  for (const { second: end, span, isCurrent, rules } of reports) {
    for (const each of rules) {
      byRule.set(each.rule, [...(byRule.get(each.rule) ?? []), { ...each, second: end, span, isCurrent }]);
    }
  }
  const current = reports.filter(({ isCurrent }) => isCurrent);
  const durations = current.flatMap((report) => report.durations);
  const p50 = percentile(durations, 0.5);
  return {
    seconds: secondsOf(reports, second, CHART_S),
    gaps: gapsOf(reports, second),
    latency: p50 === undefined ? null : { p50, p99: percentile(durations, 0.99)! },
    shares: sharesOf(current),
    servers: serversOf(current),
    rules: new Map(Array.from(byRule, ([rule, parts]) => [rule, ruleTotals(parts, second)])),
    /** Results per second of rules that are not in `rules`. */
    uncounted: sum(current.map(({ uncounted, span }) => uncounted / span)),
  };
}

/** Returns the figures of a rule; those without requests if it has no parts. */
export function ruleTotals(parts: readonly Part[], second: number) {
  const current = parts.filter(({ isCurrent }) => isCurrent);
  const rate = (count: (part: Part) => number): number => sum(current.map((part) => count(part) / part.span));
  return {
    allowed: rate(({ allowed }) => sum(allowed.slice(-RATE_S))),
    denied: rate(({ denied }) => sum(denied.slice(-RATE_S))),
    wouldDeny: rate((part) => part.wouldDeny),
    trialDeny: rate((part) => part.trialDeny),
    seconds: secondsOf(parts, second, RULE_CHART_S),
    byRoute: byRouteOf(current),
    top: mergeFrequent(parts, MOST_SUBJECTS).top,
  };
}

function secondsOf(
  lists: readonly Pick<Part, 'second' | 'allowed' | 'denied'>[],
  second: number,
  length: number,
): Snapshot['seconds'] {
  const seconds: Snapshot['seconds'][number][] = [];
  for (let at = second - length; at < second; at += 1) {
    const allowed = sum(lists.map((list) => list.allowed[at - list.second + list.allowed.length] ?? 0));
    const denied = sum(lists.map((list) => list.denied[at - list.second + list.denied.length] ?? 0));
    if (allowed + denied > 0) seconds.push({ at: at * 1000, allowed, denied });
  }
  return seconds;
}

/** Returns the times without a report of any process, the oldest first: `[from, until]` in milliseconds since the epoch. */
function gapsOf(reports: readonly ProcessReport[], second: number): Snapshot['gaps'] {
  const known = reports
    .map((each) => [Math.max(Math.floor(each.since / 1000), each.second - CHART_S), each.second] as const)
    .sort(([one], [other]) => one - other);
  const gaps: (readonly [number, number])[] = [];
  let end = 0;
  for (const [from, until] of [...known, [second, second] as const]) {
    if (from > end && from > second - CHART_S) gaps.push([end * 1000, from * 1000]);
    end = Math.max(end, until);
  }
  return gaps;
}

function byRouteOf(parts: readonly Part[]) {
  const routes = new Map<string, { route: string; allowed: number; denied: number }>();
  for (const { routes: counts, span } of parts) {
    for (const [route, allowed, denied] of counts) {
      const known = entryOf(routes, route, () => ({ route, allowed: 0, denied: 0 }));
      known.allowed += allowed / span;
      known.denied += denied / span;
    }
  }
  const byName = [...routes.values()].sort((one, other) => (one.route < other.route ? -1 : 1));
  return byName.sort((one, other) => other.allowed + other.denied - one.allowed - one.denied);
}

function sharesOf(reports: readonly ProcessReport[]): Snapshot['shares'] {
  const counts = SOURCES.map((_, index) => sum(reports.map(({ sources }) => sources[index] ?? 0)));
  const all = Math.max(1, sum(counts));
  const share = (index: number): number => counts[index]! / all;
  return { store: share(0), cache: share(1), prefetched: share(2), fallback: share(3) };
}

function serversOf(reports: readonly ProcessReport[]): Snapshot['servers'] {
  const states = new Map<string, BreakerState[]>();
  for (const [server, state] of reports.flatMap(({ servers }) => servers))
    entryOf(states, server, () => []).push(state);
  return Array.from(states, ([server, each]) => ({ server, state: worstOf(each)! }));
}

const BAD_TO_WORSE: readonly BreakerState[] = ['closed', 'half-open', 'open'];
/** Maximum number of problems that are shown. */
const MOST_PROBLEMS = 20;

/** Returns the worst state of the circuit breakers; `null` without any. */
function worstOf(states: readonly BreakerState[]): BreakerState | null {
  return BAD_TO_WORSE.findLast((state) => states.includes(state)) ?? null;
}

/** Returns what the page shows of a process. */
export function processOf(report: SeenReport, now: number): Snapshot['processes'][number] {
  const { id, host, pid, since, liveRules, servers, sources, isCurrent, seenMs } = report;
  return {
    id,
    host,
    pid,
    since,
    version: report.package,
    circuit: worstOf(servers.map(([, state]) => state)),
    fallback: (sources[FALLBACK] ?? 0) / Math.max(1, sum(sources)),
    liveRules,
    silentSince: isCurrent && seenMs <= SILENT_MS ? null : now - seenMs,
  };
}

/**
 * Returns what is wrong in any process: first what concerns the figures, then what processes report.
 *
 * @param uncounted results per second of rules without figures
 * @param loss why live rules were lost, which the page shows apart
 */
export function problemsOf(
  { reports, outage, unreadable }: AllReports,
  alive: number,
  uncounted: number,
  loss: string | undefined,
): Snapshot['problems'] {
  const texts = [
    outage &&
      `Redis cannot be read (${outage.reason}): the figures of other processes are the last known ones.`,
    alive > MOST_READ &&
      `There are ${alive} processes: the figures are those of ${reports.length}, since at most ${MOST_READ} are read.`,
    unreadable > 0 &&
      `Reports that cannot be read, since another version of the package writes another form: ${unreadable}.`,
    uncounted > 0 && tooMany(uncounted),
  ];
  const own = texts.filter((text) => typeof text === 'string').map((text) => ({ text, processes: [] }));
  const reported = new Map<string, string[]>();
  for (const { host, pid, problems, isCurrent } of reports) {
    if (!isCurrent) continue;
    for (const text of problems) reported.set(text, [...(reported.get(text) ?? []), `${host} ${pid}`]);
  }
  const others = Array.from(reported, ([text, processes]) => ({ text, processes }));
  const shown = others.filter(({ text }) => loss === undefined || !text.includes(loss));
  return [...own, ...shown].slice(0, MOST_PROBLEMS);
}

function tooMany(uncounted: number): string {
  const rate = uncounted < 1 ? 'less than one' : Math.round(uncounted);
  const most = `${MOST_RULES} rules, with ${LONGEST_FIGURES} characters of figures`;
  return `The figures of some rules are missing: a process reports at most ${most}. Results of others per second: ${rate}.`;
}
