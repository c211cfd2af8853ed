import type { Client } from './client.js';
import { Clients } from './clients.js';
import { decide, measure } from './decide.js';
import { LogFile, visitInOrder, type MalformedLine } from './input/log-file.js';
import type { SimulateOptions } from './options.js';
import type { Progress } from './progress.js';
import { suggest, templatesOf, type Suggestion } from './suggest.js';
import { Tally, type RuleTally } from './tally.js';
import { Trace } from './trace.js';

/** The result of one rule, with the rule as it was given. */
export interface RuleResult extends RuleTally {
  readonly rule: string;
  readonly algorithm: string;
}

/** The result of a simulation. */
export interface Simulation {
  readonly files: readonly string[];
  readonly by: string;
  /** Number of lines, without empty ones and headers. */
  readonly lines: number;
  readonly malformed: number;
  /** The first malformed lines, at most 3 of each file. */
  readonly firstMalformed: readonly MalformedLine[];
  /** Requests without a subject, which no rule decides. */
  readonly withoutSubject: number;
  /** Requests that are decided. */
  readonly requests: number;
  /** Requests with an earlier time than one before them. */
  readonly late: number;
  /** By how many seconds the latest of them was late. */
  readonly latestBySeconds: number;
  /** Time of the first request, ISO 8601; `null` if there is none. */
  readonly from: string | null;
  /** Time of the last request, ISO 8601; `null` if there is none. */
  readonly to: string | null;
  /** Clients that were dropped from memory before the end. They are counted again if they return. */
  readonly dropped: number;
  readonly rules: readonly RuleResult[];
  readonly suggestions: readonly Suggestion[];
}

/** Replays logs, and decides each request by each rule. */
export async function simulate(options: SimulateOptions, progress: Progress): Promise<Simulation> {
  const { rules } = options;
  const tallies = rules.map(() => new Tally());
  const trace = options.suggest && new Trace();
  let [now, requests, withoutSubject, late, latestBy, from, dropped] = [0, 0, 0, 0, 0, -1, 0];
  const clients = new Clients({
    rules: rules.length,
    maxSize: options.maxClients,
    measure: ({ records }) => rules.forEach(({ compiled }, index) => measure(compiled, records[index]!, now)),
    onDropped: (client: Client) => {
      dropped += 1;
      tallies.forEach((tally, index) => tally.addClient(client, client.records[index]!.denied));
    },
  });
  const files = options.files.map(
    (path) => new LogFile(path, { ...options, onRead: (bytes) => progress.read(bytes) }),
  );
  await visitInOrder(files, ({ time, subject }) => {
    if (time < now) {
      late += 1;
      latestBy = Math.max(latestBy, now - time);
    } else now = time;
    if (from < 0) from = time;
    if (subject === undefined) {
      withoutSubject += 1;
      return;
    }
    requests += 1;
    const client = clients.take(subject);
    const second = Math.floor(now / 1e6);
    for (let index = 0; index < rules.length; index += 1) {
      tallies[index]!.add(second, decide(rules[index]!.compiled, client.records[index]!, now));
    }
    trace?.add(now, client.id);
  });
  const droppedEarly = dropped;
  clients.dropAll();
  return {
    files: options.files,
    by: options.by.join(','),
    lines: sum(files.map((file) => file.lines)),
    malformed: sum(files.map((file) => file.malformed)),
    firstMalformed: files.flatMap((file) => file.firstMalformed),
    withoutSubject,
    requests,
    late,
    latestBySeconds: Math.ceil(latestBy / 1e6),
    from: from < 0 ? null : isoOf(from),
    to: from < 0 ? null : isoOf(now),
    dropped: droppedEarly,
    rules: rules.map(({ text, compiled }, index) => ({
      rule: text,
      algorithm: compiled.algorithm.name,
      ...tallies[index]!.result(),
    })),
    suggestions: trace ? suggestAll(options, trace, progress) : [],
  };
}

function suggestAll(options: SimulateOptions, trace: Trace, progress: Progress): readonly Suggestion[] {
  if (trace.length === 0) return [];
  const clients = trace.byClient();
  const templates = templatesOf(options.rules);
  return templates.map((template, index) => {
    progress.search(index, templates.length);
    return suggest(template, clients, options.suggest!);
  });
}

function isoOf(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString();
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
