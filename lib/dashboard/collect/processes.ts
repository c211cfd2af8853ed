import type { BreakerState, SnapshotProblem, SnapshotProcess } from '../snapshot-process.js';
import { FALLBACK } from './collector.js';
import { sum } from './durations.js';
import { MOST_RULES } from './minutes.js';
import { LONGEST_FIGURES } from './process-report.js';
import { MOST_READ } from '../../stores/redis/link/shared-minutes.js';
import { SILENT_MS, type AllReports, type SeenReport } from './report-reader.js';

const BAD_TO_WORSE: readonly BreakerState[] = ['closed', 'half-open', 'open'];
/** Maximum number of problems that are shown. */
const MOST_PROBLEMS = 20;

/** Returns the worst state of the circuit breakers; `null` without any. */
export function worstOf(states: readonly BreakerState[]): BreakerState | null {
  return BAD_TO_WORSE.findLast((state) => states.includes(state)) ?? null;
}

/** Returns what the page shows of a process. */
export function processOf(report: SeenReport, now: number): SnapshotProcess {
  const { id, host, pid, since, servers, sources, isCurrent, seenMs } = report;
  return {
    id,
    host,
    pid,
    since,
    version: report.package ?? null,
    circuit: worstOf(servers.map(([, state]) => state)),
    fallback: (sources[FALLBACK] ?? 0) / Math.max(1, sum(sources)),
    liveRules: report.liveRules ?? '',
    silentSince: isCurrent && seenMs <= SILENT_MS ? null : now - seenMs,
  };
}

interface Context {
  readonly alive: number;
  /** Results per second of rules without figures. */
  readonly uncounted: number;
  /** Why live rules were lost, which the page shows apart. */
  readonly loss: string | undefined;
}

/** Returns what is wrong in any process: first what concerns the figures, then what processes report. */
export function problemsOf(
  { reports, outage, unreadable }: AllReports,
  { alive, uncounted, loss }: Context,
): readonly SnapshotProblem[] {
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
  for (const { host, pid, problems = [], isCurrent } of reports) {
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
