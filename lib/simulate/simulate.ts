import { statSync } from 'node:fs';
import { type Client, Clients } from './clients.js';
import { fieldsFound, forwardedField, isPrivate } from './input/log-fields.js';
import { LogFile, visitInOrder } from './input/log-file.js';
import type { SimulateOptions } from './options.js';
import { readRule } from './rule-text.js';
import { suggest, templatesOf, type ClientTimes, type Suggestion } from './suggest.js';
import { Tally } from './tally.js';

/** The stream that shows the progress. */
interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const FIRST_AFTER_MS = 1000;

const EVERY_MS = 200;

const WIDTH = 30;

/** Shows the progress of long work in one line of a terminal, and removes the line at the end. */
export class Progress {
  private readonly total: number;
  private done = 0;
  private nextAt: number;
  private isShown = false;

  /**
   * @param files the files to read; their sizes are the work
   * @param stopwatch milliseconds since an arbitrary instant
   */
  constructor(
    private readonly output: ProgressOutput,
    files: readonly string[],
    private readonly stopwatch: () => number = () => performance.now(),
  ) {
    const sizes = files.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? NaN);
    this.total = sizes.reduce((sum, size) => sum + size, 0);
    this.nextAt = stopwatch() + FIRST_AFTER_MS;
  }

  /** Reports bytes that were read. */
  read(bytes: number): void {
    this.done += bytes;
    if (Number.isNaN(this.total)) this.show(`read ${Math.floor(this.done / 1e6)} MB`);
    else this.show(bar(this.done / this.total, 'reading'));
  }

  /** Reports that a number of searches of limits are done. */
  search(done: number, total: number): void {
    this.show(bar(done / total, 'searching limits'));
  }

  /** Removes the line. */
  end(): void {
    if (this.isShown) this.output.write('\r\u001b[K');
    this.isShown = false;
  }

  private show(text: string): void {
    if (!this.output.isTTY || this.stopwatch() < this.nextAt) return;
    this.nextAt = this.stopwatch() + EVERY_MS;
    this.isShown = true;
    this.output.write(`\r${text}\u001b[K`);
  }
}

function bar(share: number, work: string): string {
  const full = Math.round(Math.min(1, share) * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${Math.floor(Math.min(1, share) * 100)} % ${work}`;
}

/** The share of the requests that an address of a proxy sends at least. */
const NEARLY_ALL = 0.9;

/** The result of a simulation. */
export type Simulation = Awaited<ReturnType<typeof simulate>>;

/** The result of one rule. */
export type RuleResult = Simulation['rules'][number];

/** Replays logs, and decides each request by each rule. */
export async function simulate(options: SimulateOptions, progress: Progress) {
  const rules = options.rules.map(readRule);
  const tallies = rules.map(() => new Tally());
  const times: number[][] = [];
  let [now, requests, withoutSubject, late, latestBy, from, dropped] = [0, 0, 0, 0, 0, -1, 0];
  let busiest: Pick<Client, 'key' | 'requests'> = { key: '', requests: 0 };
  const sizeOf = ({ counters }: Client) =>
    counters.reduce((size, counter, index) => size + counter.measure(rules[index]!, now), 1);
  const clients = new Clients(rules.length, options.maxClients, sizeOf, (client) => {
    dropped += 1;
    if (client.requests > busiest.requests) busiest = client;
    tallies.forEach((tally, index) => tally.addClient(client, client.counters[index]!.denied));
    if (client.times) times.push(client.times);
  });
  const read = (bytes: number): void => progress.read(bytes);
  const files = options.files.map((path) => new LogFile(path, options, read));
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
      tallies[index]!.add(second, client.counters[index]!.decide(rules[index]!, now));
    }
    clients.measure(client);
    if (client.times) client.times.push(now);
    else if (options.suggest) client.times = [now];
  });
  const droppedEarly = dropped;
  clients.dropAll();
  const fields = files.map(({ firstFields }) => firstFields).find(({ length }) => length > 0) ?? [];
  const malformed = sum(files.map((file) => file.malformed));
  const isProxy =
    options.by.join() === 'ip' && busiest.requests >= requests * NEARLY_ALL && isPrivate(busiest.key);
  return {
    files: options.files,
    by: options.by.join(','),
    /** Number of lines, without empty ones and headers. */
    lines: sum(files.map((file) => file.lines)),
    malformed,
    /** The first malformed lines, at most 3 of each file. */
    firstMalformed: files.flatMap((file) => file.firstMalformed),
    /** Requests without a subject, which no rule decides. */
    withoutSubject,
    /** Requests that are decided. */
    requests,
    /** Requests with an earlier time than one before them. */
    late,
    /** By how many seconds the latest of them was late. */
    latestBySeconds: Math.ceil(latestBy / 1e6),
    /** Time of the first request, ISO 8601. */
    from: isoOf(from),
    /** Time of the last request, ISO 8601. */
    to: isoOf(now),
    /** Clients that were dropped from memory before the end. They are counted again if they return. */
    dropped: droppedEarly,
    /** The fields of the first line, and the `--map` that reads its time and `--by`. */
    fields: fieldsFound(fields, [
      ...(malformed > 0 ? ['time'] : []),
      ...options.by.filter((field) => field !== 'everyone'),
    ]),
    /** The private address that sends nearly all requests, and the field with the forwarded one; `null` if there is none. */
    proxy: isProxy
      ? { client: busiest.key, requests: busiest.requests, forwarded: forwardedField(fields) ?? null }
      : null,
    /** The result of each rule, with the rule as it was given. */
    rules: rules.map(({ algorithm }, index) => ({
      rule: options.rules[index]!,
      algorithm: algorithm.name,
      ...tallies[index]!.result(),
    })),
    suggestions: options.suggest ? suggestAll(options, times, progress) : [],
  };
}

function suggestAll(options: SimulateOptions, times: ClientTimes, progress: Progress): readonly Suggestion[] {
  const clients = times.toSorted((one, other) => other.length - one.length);
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
