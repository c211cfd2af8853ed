import {
  Inject,
  Injectable,
  ServiceUnavailableException,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { hostname } from 'node:os';
import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { every, sleep, type Timer } from '../../contracts/timer.js';
import { denialIds } from '../../limiter/denial-id.js';
import { RateLimitHealth } from '../../nest/rate-limit.health.js';
import {
  ENDED_MS,
  KEPT_MS,
  type AddedMinute,
  type ProcessRecords,
  type Question,
} from '../../stores/redis/link/process-records.js';
import { openProcessRecords } from '../../stores/redis/open-redis-store.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { DASHBOARD_OPTIONS, type DashboardOptions } from '../dashboard.options.js';
import { DenialRecord } from './denial-record.js';
import type { RateLimitModuleOptions } from '../../nest/rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_REDIS } from '../../nest/tokens.js';
import { version } from '../page.embedded.js';
import { Collector } from './collector.js';
import { withMaskedSubjects } from './masked.js';
import { MOST_RULES, type MinuteCounts } from './counts.js';
import { readReport, reportOf, type ProcessReport, type ServerStates } from './process-report.js';
import { ReportReader, type AllReports } from './report-reader.js';
import type { BreakerState } from '../snapshot.js';

const PUBLISHED_EVERY_MS = 1000;
/** Reports that were read are used for this long. */
const FRESH_MS = 400;
/** Processes look for questions once a second. */
const LONGEST_WAIT_MS = 2500;
/** Processes ask one after another. The page gives up after 15 seconds. */
const LONGEST_QUEUE_MS = 10_000;
const LOOK_EVERY_MS = 100;

interface Asked {
  readonly ids?: readonly string[]; // By default all that report.
  /** How long to wait for other questions, and for answers, in milliseconds. */
  readonly queueMs?: number;
  readonly waitMs?: number;
}

/** Between the kind of a question and its text: names of rules have no control characters. */
const END_OF_KIND = '\n';

const IMPORTED_TWICE =
  'RateLimitDashboardModule: imported twice; allowed: one operations page in an application, with guards that tell its users apart';

export const BUSY = 'Other previews are being calculated; try again in 5 seconds.';

/**
 * Counts the decisions of this process, publishes them in Redis once a second, and reads those of the other processes.
 * Sends questions to them, and answers theirs.
 */
@Injectable()
export class ProcessReports implements OnModuleInit, OnApplicationShutdown {
  readonly collector: Collector;
  /** Access to the other processes; `undefined` if limits are counted in the memory of this process. */
  records: ProcessRecords | undefined;
  /** Answer questions of other processes, by their kinds. */
  private readonly answers = new Map<string, (text: string) => unknown>();
  private readonly since = Date.now();
  private readonly servers = new Set<string>();
  private timer: Timer | undefined;
  private isPublishing = false;
  private hasEnded = false;
  private answered: string | undefined;
  private readonly reader = new ReportReader();
  private last: { readonly at: number; readonly all: Promise<AllReports> } | undefined;

  constructor(
    @Inject(RATE_LIMIT_REDIS) private readonly client: object | null,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(RateLimitHealth) private readonly health: RateLimitHealth,
    @Inject(DASHBOARD_OPTIONS) dashboard: DashboardOptions,
  ) {
    // Without RateLimitModule, the constructor of the page names the fix.
    const denials = dashboard.explain === false ? undefined : new DenialRecord(limits);
    this.collector = new Collector(Date.now, denials);
  }

  async onModuleInit(): Promise<void> {
    if (!this.limits.events.observe(this.collector)) rejectConfig(IMPORTED_TWICE);
    const { redis } = this.options;
    if (!this.client || !redis) return;
    const records = await openProcessRecords(redis, this.limits.engine.keys.shared('instances'), this.id);
    if (this.hasEnded) return;
    this.records = records;
    this.limits.events.on('breaker', ({ server }) => this.servers.add(server));
    this.timer = every(PUBLISHED_EVERY_MS, () => void this.publish());
    void this.publish();
  }

  /** After the last response, so that its decision is counted. */
  async onApplicationShutdown(): Promise<void> {
    this.hasEnded = true;
    this.timer?.stop();
    this.limits.events.observe(undefined);
    // If that fails, another process adds the minute of the last report, as if this process had been killed.
    await this.addMinutes(true).catch(() => undefined);
    this.records?.close();
  }

  get id(): string {
    return this.limits.engine.keys.instance;
  }

  /** Returns the reports of all processes, at most 0.4 s old; while Redis cannot be read, the last ones of the others. */
  all(): Promise<AllReports> {
    const now = performance.now();
    if (!this.last || now - this.last.at > FRESH_MS)
      this.last = { at: now, all: this.reader.read(this.records, () => this.own(), this.collector) };
    return this.last.all;
  }

  /** Answers questions of a kind with a value of JSON; `undefined` if there is no answer. */
  answerBy(kind: string, answer: (text: string) => unknown): void {
    this.answers.set(kind, answer);
  }

  /**
   * Returns the answers of other processes as JSON; `null` for one that has not answered.
   *
   * @throws ServiceUnavailableException if other questions are open for too long, or Redis cannot be read
   */
  async ask(
    kind: string,
    text: string,
    { ids, queueMs = LONGEST_QUEUE_MS, waitMs = LONGEST_WAIT_MS }: Asked = {},
  ): Promise<readonly (string | null)[]> {
    const { records, id: own } = this;
    const reporting = async () => (await this.all()).reports.filter(({ isCurrent }) => isCurrent);
    const others = (ids ?? (await reporting()).map(({ id }) => id)).filter((id) => id !== own);
    if (!records || others.length === 0) return [];
    const ask = () => records.ask(kind + END_OF_KIND + text);
    const question = await until(queueMs, ask, Boolean).catch(unreadable);
    if (!question) throw new ServiceUnavailableException(BUSY);
    const look = () => records.answers(question, others);
    const answers = until(waitMs, look, (found) => !found.includes(null));
    return answers.finally(() => records.endQuestion(question)).catch(unreadable);
  }

  /**
   * Returns the processes that have written ids of denials.
   *
   * @throws ServiceUnavailableException if Redis cannot be read
   */
  async writers(): ReturnType<ProcessRecords['writers']> {
    return this.records ? this.records.writers().catch(unreadable) : [];
  }

  private own(hasEnded = false): ProcessReport {
    const state = {
      id: this.id,
      host: hostname(),
      pid: process.pid,
      since: this.since,
      servers: this.serverStates(),
      package: version,
      liveRules: String(this.limits.rules.follower?.version ?? ''),
      problems: this.health.problems.map(withMaskedSubjects),
      hasEnded,
      keptMs: hasEnded ? ENDED_MS : KEPT_MS,
    };
    return reportOf(state, this.collector);
  }

  private serverStates(): ServerStates {
    if (!this.records) return [];
    const { base, events } = this.limits.engine;
    const known = [...new Set([...this.servers, ...events.openCircuits.keys()])];
    const stateOf = (server: string): BreakerState =>
      !events.openCircuits.has(server) ? 'closed' : base.shared?.isProbing?.(server) ? 'half-open' : 'open';
    return (known.length > 0 ? known : ['']).map((server) => [server, stateOf(server)]);
  }

  private async publish(): Promise<void> {
    if (this.isPublishing) return;
    this.isPublishing = true;
    try {
      const question = await this.records!.publish(JSON.stringify(this.own()), denialIds.key.toString('hex'));
      if (question && question.id !== this.answered) await this.reply(question);
      if (await this.addMinutes()) await this.addOfKilled();
    } catch {
      // The breaker reports that Redis fails, and `all` what the page does not show.
    } finally {
      this.isPublishing = false;
    }
  }

  /** Adds the minutes that are over, at the end also the last, to those of the others. Returns whether there were any. */
  private async addMinutes(isEnd = false): Promise<boolean> {
    const { minutes, clock } = this.collector;
    const last = minutes.at(clock() / 1000);
    const over = minutes.kept.filter((each) => isEnd || each !== last);
    for (const minute of over) {
      const isLast = minute === last;
      const next = minutes.kept.find((each) => each.minute > minute.minute);
      const record = JSON.stringify({ ...this.own(isLast), minute: next });
      await this.records?.addMinute(this.id, added(minute), record, isLast ? ENDED_MS : KEPT_MS);
      minutes.drop(minute.minute);
    }
    return over.length > 0;
  }

  /** Adds the last minutes of processes that were killed. */
  private async addOfKilled(): Promise<void> {
    const records = this.records!;
    for (const report of (await records.left()).map(readReport))
      if (report?.minute) await records.addMinute(report.id, added(report.minute));
  }

  private async reply(question: Question): Promise<void> {
    this.answered = question.id;
    const end = question.text.indexOf(END_OF_KIND);
    const answer = this.answers.get(question.text.slice(0, end))?.(question.text.slice(end + 1));
    if (answer !== undefined) await this.records!.answer(question, JSON.stringify(answer));
  }
}

/** @throws ServiceUnavailableException always */
function unreadable({ message }: Error): never {
  throw new ServiceUnavailableException(`Redis cannot be read: ${message}`);
}

function added(counts: MinuteCounts): AddedMinute {
  return { minute: counts.minute, counts: JSON.stringify(counts), mostRules: MOST_RULES };
}

/** Looks again and again until what is found is wanted, and returns it; after a time, whatever is found. */
async function until<Found>(
  longestMs: number,
  look: () => Promise<Found>,
  isWanted: (found: Found) => boolean,
): Promise<Found> {
  const end = performance.now() + longestMs;
  for (;;) {
    const found = await look();
    if (isWanted(found) || performance.now() > end) return found;
    await sleep(LOOK_EVERY_MS);
  }
}
