import { fieldsIn, isFields } from '../../contracts/fields.js';
import { CHART_S, RATE_S, RULE_CHART_S, type BreakerState, type SnapshotProcess } from '../snapshot.js';
import type { Collector } from './collector.js';
import { readMinute, sum } from './counts.js';
import type { RouteCounts, RuleCounts } from './rule-counts.js';
import type { CountedElement } from './space-saving.js';

/** Version of the form, which earlier releases require. Processes read reports of others during a deploy: fields are only added. */
const VERSION = 3;
/** Maximum length of the figures of all rules, without their subjects. */
export const LONGEST_FIGURES = 48 * 1024;
/** Length that subjects can have however long the figures are. */
const ROOM_FOR_SUBJECTS = 8 * 1024;
const COUNTS = { allowed: [0], denied: [0] };
/** An example of what every report has. */
const REPORT = {
  ...{ id: '', host: '', package: '', liveRules: '', problems: [''], keptMs: 0 },
  ...{ second: 0, span: 0, since: 0, pid: 0, uncounted: 0, sources: [0] },
  ...{ ...COUNTS, durations: [[]], servers: [[]], rules: [{}] },
};
/** An example of what every report has of a rule. */
const RULE = { ...COUNTS, routes: [[]], top: [[]], wouldDeny: 0, trialDeny: 0, rest: 0 };
/** What the reports of earlier releases lack, which keep them for 5 s. */
const EARLIER = { package: 'another', liveRules: '', problems: [], keptMs: 5000 };
const MOST_PROBLEMS = 10;
const LONGEST_PROBLEM = 600;
const MOST_ROUTES = 20;
const MOST_SUBJECTS = 20;

/** The states of the circuit breakers by server. */
export type ServerStates = readonly (readonly [server: string, state: BreakerState])[];

/** What a process reports of itself. */
export interface ProcessState extends Pick<SnapshotProcess, 'id' | 'host' | 'pid' | 'since' | 'liveRules'> {
  readonly servers: ServerStates;
  /** Version of this package. */
  readonly package: string;
  /** Why it is degraded, and its warnings. */
  readonly problems: readonly string[];
  /** Whether it has ended in order. */
  readonly hasEnded: boolean;
  /** How long the report is kept, in milliseconds. */
  readonly keptMs: number;
}

/** What a process publishes once a second. Lists of seconds are empty if they have no requests. */
export type ProcessReport = Readonly<ReturnType<typeof reportOf>>;

/** What a process publishes of one rule. The counts without seconds are those of the last 10 seconds. */
export type RuleReport = Readonly<ReturnType<typeof ruleReport>>;

/** Returns the report of this process. Rules that it has no room for are left out; those with the most requests come first. */
export function reportOf(process: ProcessState, collector: Collector) {
  const now = collector.clock() / 1000;
  const second = Math.floor(now) + 1;
  const current = collector.minutes.at(now);
  const minute = process.hasEnded ? undefined : (collector.minutes.kept[0] ?? current);
  const rules: RuleReport[] = [];
  const problems = shownProblems(process.problems);
  let room = LONGEST_FIGURES - JSON.stringify([minute, problems]).length;
  let uncounted = collector.uncounted.sum(second);
  for (const report of Array.from(collector.rules, (each) => ruleReport(each, second)).sort(byRequests)) {
    const { length } = JSON.stringify({ ...report, top: [] });
    if (length <= room) {
      rules.push(report);
      room -= length;
    } else uncounted += sum(report.allowed.slice(-RATE_S)) + sum(report.denied.slice(-RATE_S));
  }
  return {
    ...process,
    version: VERSION,
    /** The second after the current one, which is the last in the lists, in seconds since the epoch. */
    second,
    /** Length of the last 10 seconds until now, in seconds, since the current one is not over. */
    span: RATE_S - (second - now),
    ...secondsOf(collector, second, CHART_S),
    durations: collector.durations.before(second),
    sources: collector.sources.map((counts) => counts.sum(second)),
    servers: process.servers.slice(0, 100),
    problems,
    rules: withSubjects(rules, Math.max(room, ROOM_FOR_SUBJECTS)),
    /** Results of the last 10 seconds of rules that are not in `rules`, since there are too many. */
    uncounted,
    /** The first minute that is not in the minutes that all processes share. */
    minute,
  };
}

/**
 * Returns the report in a text, also of a later version that has added fields; `undefined` if it lacks what every report
 * has. Rules and minutes in another form are left out.
 */
export function readReport(text: string): ProcessReport | undefined {
  const read: Readonly<Record<string, unknown>> = { ...EARLIER, ...fieldsIn(text) };
  if (!isLike(read, REPORT)) return undefined;
  const report = read as unknown as ProcessReport;
  const rules = report.rules.filter((each) => isLike(each, RULE));
  return { ...report, rules, minute: readMinute(report.minute) };
}

/** Whether a value has the types of an example: an object all its fields, and each item of a list that of its only item. */
function isLike(value: unknown, example: unknown): boolean {
  if (Array.isArray(example))
    return Array.isArray(value) && value.every((each) => example.every((item) => isLike(each, item)));
  if (isFields(example))
    return isFields(value) && Object.entries(example).every(([name, field]) => isLike(value[name], field));
  return typeof example === 'number' ? Number.isFinite(value) : typeof value === typeof example;
}

/** Returns as many problems as a report holds, the last of each code first, and how many there are beside them. */
function shownProblems(problems: readonly string[]): readonly string[] {
  const codeOf = (problem: string): string => /\(RL_\w+\)$/.exec(problem)?.[0] ?? '';
  const last = new Set(new Map(problems.map((problem) => [codeOf(problem), problem])).values());
  const sorted = [...last, ...problems.filter((problem) => !last.has(problem))];
  const shown = sorted.slice(0, MOST_PROBLEMS).map(shortened);
  const others = problems.length - shown.length;
  return others > 0 ? [...shown, `The log has ${others} more of these problems.`] : shown;
}

function shortened(text: string): string {
  return text.length > LONGEST_PROBLEM ? `${text.slice(0, LONGEST_PROBLEM)}…` : text;
}

function ruleReport([rule, counts]: [string, RuleCounts], second: number) {
  return {
    rule,
    ...secondsOf(counts, second, RULE_CHART_S),
    wouldDeny: counts.wouldDeny.sum(second),
    trialDeny: counts.trialDeny.sum(second),
    routes: routesOf(counts, second),
    ...counts.subjects.list(second, MOST_SUBJECTS),
  };
}

/**
 * Leaves out subjects that there is no room for. Every rule gets its first subject before any rule its second, so that
 * clients with long subjects hide neither a rule nor the subjects of another.
 */
function withSubjects(rules: readonly RuleReport[], length: number): readonly RuleReport[] {
  const listed = rules.map(({ rest }) => ({ top: [] as CountedElement[], rest }));
  const subjects = rules.flatMap(({ top }, index) => top.map((subject, nth) => ({ subject, nth, index })));
  let room = length;
  for (const { subject, index } of subjects.sort((one, other) => one.nth - other.nth)) {
    const needed = JSON.stringify(subject).length + 1;
    const list = listed[index]!;
    if (needed > room) list.rest = Math.max(list.rest, subject[1]);
    else {
      list.top.push(subject);
      room -= needed;
    }
  }
  return rules.map((rule, index) => ({ ...rule, ...listed[index]! }));
}

function routesOf({ routes }: RuleCounts, second: number) {
  return Array.from(
    routes,
    ([route, { allowed, denied }]) => [route, allowed.sum(second), denied.sum(second)] as const,
  )
    .filter(([, allowed, denied]) => allowed + denied > 0)
    .sort((one, other) => other[1] + other[2] - one[1] - one[2])
    .slice(0, MOST_ROUTES);
}

/** The requests of each second; empty lists without requests. */
function secondsOf({ allowed, denied }: RouteCounts, second: number, length: number) {
  const trimmed = (counts: readonly number[]): readonly number[] => (sum(counts) > 0 ? counts : []);
  return { allowed: trimmed(allowed.before(second, length)), denied: trimmed(denied.before(second, length)) };
}

function byRequests(one: RuleReport, other: RuleReport): number {
  return sum(other.allowed) + sum(other.denied) - sum(one.allowed) - sum(one.denied);
}
