import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import { Subject } from './subject.js';
import type { Retry } from './traffic.js';
import { mostAtOnce, worstWindow, type Worst } from './worst-window.js';

/** A decided request. Times are in microseconds since the start. */
export interface Decided {
  readonly at: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly outcome: 'allowed' | 'delayed' | 'denied';
  /** When it proceeds. */
  readonly goesAt: number;
  /** Until when an allowed request holds its permits, for an algorithm with leases. */
  readonly until: number;
  /** How long until the request would be allowed; `null` if never. */
  readonly retryAfter: number | null;
}

/** The permits left at an instant. */
export interface Level {
  readonly at: number;
  readonly remaining: number;
}

/** What a rule decides. */
export interface Run {
  readonly decided: readonly Decided[];
  readonly levels: readonly Level[];
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
  /** The most requests that proceed in a window of the rule, or that hold permits at the same time. */
  readonly worst: Worst | undefined;
}

/** What is decided, and for how long. */
export interface Replay {
  /** The first attempts, in whole milliseconds. */
  readonly arrivals: readonly number[];
  readonly retry: Retry | undefined;
  readonly seconds: number;
  /** How many seconds a request holds its permits, if the algorithm has leases. */
  readonly held: number;
}

/** A client gives up a request after so many attempts. */
const MOST_ATTEMPTS = 20;

const MOST_DECIDED = 3000;
const LEVELS = 300;

/** Decides the requests of one client with a rule, in virtual time. */
export function run(rule: CompiledRule, replay: Replay): Run {
  const subject = new Subject(rule, replay.held * 1e6);
  const end = replay.seconds * 1e6;
  const decided: Decided[] = [];
  const levels: Level[] = [];
  const look = (until: number) => {
    for (let at = (levels.length * end) / LEVELS; at <= until; at = (levels.length * end) / LEVELS) {
      levels.push({ at, remaining: subject.look(Math.round(at)).remaining });
    }
  };
  const pending = replay.arrivals.map((at) => ({ at: at * 1000, attempt: 1 }));
  for (let next = pending.shift(); next && decided.length < MOST_DECIDED; next = pending.shift()) {
    look(next.at - 1);
    const request = decide(subject, next, replay);
    decided.push(request);
    const again = request.outcome === 'denied' ? nextAttempt(request, replay.retry) : undefined;
    if (again && again.at < end) insert(pending, again);
  }
  look(end);
  return { decided, levels, ...countsOf(decided), worst: worstOf(rule, decided) };
}

/** Returns the subject at an instant, after the requests before it. */
export function subjectAt(rule: CompiledRule, { decided }: Run, { held }: Replay, at: number): Subject {
  const subject = new Subject(rule, held * 1e6);
  for (const request of decided) if (request.at <= at) subject.request(request.at);
  return subject;
}

function decide(
  subject: Subject,
  { at, attempt }: { readonly at: number; readonly attempt: number },
  { held }: Replay,
): Decided {
  const step = subject.request(at);
  const isAllowed = step?.allowed === true;
  const delay = isAllowed ? step.delay : 0;
  const blocked = subject.blockedFor(at);
  return {
    at,
    attempt,
    outcome: isAllowed ? (delay > 0 ? 'delayed' : 'allowed') : 'denied',
    goesAt: at + delay,
    until: at + delay + held * 1e6,
    retryAfter: step?.retryAfter === null ? null : Math.max(step?.retryAfter ?? 0, blocked),
  };
}

function nextAttempt({ at, attempt, retryAfter }: Decided, retry: Retry | undefined) {
  if (retry === undefined || attempt >= MOST_ATTEMPTS) return undefined;
  if (retry !== 'retry-after') return { at: at + retry.afterMs * 1000, attempt: attempt + 1 };
  if (retryAfter === null) return undefined;
  // The header has whole seconds.
  return { at: at + Math.max(1, Math.ceil(retryAfter / 1e6)) * 1e6, attempt: attempt + 1 };
}

function insert<Item extends { readonly at: number }>(sorted: Item[], item: Item): void {
  const before = sorted.findIndex(({ at }) => at > item.at);
  sorted.splice(before < 0 ? sorted.length : before, 0, item);
}

function countsOf(decided: readonly Decided[]) {
  const number = (wanted: Decided['outcome']) => decided.filter(({ outcome }) => outcome === wanted).length;
  const delayed = number('delayed');
  return { allowed: number('allowed') + delayed, delayed, denied: number('denied') };
}

function worstOf({ algorithm, parameters }: CompiledRule, decided: readonly Decided[]): Worst | undefined {
  const going = decided.filter(({ outcome }) => outcome !== 'denied');
  if (algorithm.leases) return mostAtOnce(going.map(({ goesAt, until }) => ({ from: goesAt, until })));
  const instants = going.map(({ goesAt }) => goesAt).toSorted((one, other) => one - other);
  return worstWindow(instants, parameters['window'] ?? 0);
}
