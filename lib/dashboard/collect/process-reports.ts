import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { hostname } from 'node:os';
import type { BaseStore } from '../../contracts/base-store.js';
import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { every, type Timer } from '../../contracts/timer.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import { denialIds } from '../../limiter/denial-id.js';
import { RateLimitEvents } from '../../limiter/events.js';
import { LiveRules } from '../../live/live-rules.js';
import { RateLimitHealth } from '../../nest/rate-limit.health.js';
import type { ProcessRecords, Question } from '../../stores/redis/link/process-records.js';
import { ENDED_MS, KEPT_MS, type AddedMinute } from '../../stores/redis/link/shared-minutes.js';
import { openProcessRecords } from '../../stores/redis/open-redis-store.js';
import { RuleTable } from '../../nest/rules/rule-table.js';
import { DASHBOARD_OPTIONS, type RateLimitDashboardOptions } from '../dashboard.options.js';
import { DenialRecord } from '../explain/denial-record.js';
import type { RateLimitModuleOptions } from '../../nest/rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_REDIS, RATE_LIMIT_STORE } from '../../nest/tokens.js';
import { version } from '../page.embedded.js';
import { Collector } from './collector.js';
import { MOST_RULES, type MinuteCounts } from './minutes.js';
import { readReport, reportOf, type ProcessReport, type ServerStates } from './process-report.js';
import { ReportReader, type AllReports } from './report-reader.js';
import type { BreakerState } from '../snapshot.js';

const PUBLISHED_EVERY_MS = 1000;
/** Reports that were read are used for this long. */
const FRESH_MS = 400;

/** Counts the decisions of this process, and publishes them in Redis once a second. */
@Injectable()
export class ProcessReports implements OnModuleInit, OnApplicationShutdown {
  readonly collector: Collector;
  /** Access to the other processes; `undefined` if limits are counted in the memory of this process. */
  records: ProcessRecords | undefined;
  /** Answers a question of a process; `undefined` if it has no answer. */
  answer: ((text: string) => string | undefined) | undefined;
  private readonly since = Date.now();
  private readonly servers = new Set<string>();
  private timer: Timer | undefined;
  private isPublishing = false;
  private hasEnded = false;
  private answered: string | undefined;
  private readonly reader = new ReportReader();
  private last: { readonly at: number; readonly all: Promise<AllReports> } | undefined;

  constructor(
    @Inject(RateLimitEvents) private readonly events: RateLimitEvents,
    @Inject(RATE_LIMIT_STORE) private readonly store: BaseStore,
    @Inject(RATE_LIMIT_REDIS) private readonly client: object | null,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(RateLimitHealth) private readonly health: RateLimitHealth,
    @Inject(LiveRules) private readonly liveRules: LiveRules,
    @Inject(RuleTable) table: RuleTable,
    @Inject(DASHBOARD_OPTIONS) dashboard: RateLimitDashboardOptions,
  ) {
    // Without RateLimitModule, the constructor of the page names the fix.
    this.collector = new Collector(
      Date.now,
      dashboard.explain === false ? undefined : new DenialRecord(table),
    );
  }

  async onModuleInit(): Promise<void> {
    if (!this.events.observe(this.collector)) {
      rejectConfig(
        'RateLimitDashboardModule: imported twice; allowed: one operations page in an application, with guards that tell its users apart',
      );
    }
    const { redis } = this.options;
    if (!this.client || !redis) return;
    const records = await openProcessRecords(redis, this.limiter.engine.keys.shared('instances'), this.id);
    if (this.hasEnded) return;
    this.records = records;
    this.events.on('breaker', ({ server }) => this.servers.add(server));
    this.timer = every(PUBLISHED_EVERY_MS, () => void this.publish());
    void this.publish();
  }

  /** After the last response, so that its decision is counted. */
  async onApplicationShutdown(): Promise<void> {
    this.hasEnded = true;
    this.timer?.stop();
    this.events.observe(undefined);
    if (!this.records) return;
    await this.addMinutes().catch(() => undefined);
    const minute = this.collector.minutes.at(this.collector.clock() / 1000);
    await this.records.end(added(minute), JSON.stringify(this.own(true)));
  }

  get id(): string {
    return this.limiter.engine.keys.instance;
  }

  /** Number of processes that share the limits. */
  get alive(): number {
    return this.limiter.instanceCount;
  }

  /**
   * Returns the reports of all processes, at most 0.4 s old. While Redis cannot be read, those of the others are the last
   * that were read.
   */
  all(): Promise<AllReports> {
    const now = performance.now();
    if (!this.last || now - this.last.at > FRESH_MS)
      this.last = { at: now, all: this.reader.read(this.records, () => this.own(), this.collector) };
    return this.last.all;
  }

  private own(hasEnded = false): ProcessReport {
    const state = {
      id: this.id,
      host: hostname(),
      pid: process.pid,
      since: this.since,
      servers: this.serverStates(),
      package: version,
      liveRules: String(this.liveRules.version ?? ''),
      problems: this.health.problems,
      hasEnded,
      keptMs: hasEnded ? ENDED_MS : KEPT_MS,
    };
    return reportOf(state, this.collector);
  }

  private serverStates(): ServerStates {
    if (!this.records) return [];
    const { openCircuits } = this.events;
    const known = [...new Set([...this.servers, ...openCircuits.keys()])];
    const stateOf = (server: string): BreakerState => {
      if (!openCircuits.has(server)) return 'closed';
      return this.store.shared?.isProbing?.(server) ? 'half-open' : 'open';
    };
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

  /** Adds the minutes that are over to those of the other processes. Returns whether there were any. */
  private async addMinutes(): Promise<boolean> {
    const { minutes } = this.collector;
    const over = minutes.kept.slice(0, -1);
    for (const minute of over) {
      const { minute: at } = minute;
      const record = { ...this.own(), minute: minutes.kept.find((each) => each.minute > at) };
      await this.records!.minutes.add(this.id, added(minute), JSON.stringify(record));
      minutes.drop(at);
    }
    return over.length > 0;
  }

  /** Adds the last minutes of processes that were killed. */
  private async addOfKilled(): Promise<void> {
    const reports = (await this.records!.minutes.left()).map(readReport);
    for (const report of reports) {
      if (report?.minute) await this.records!.minutes.add(report.id, added(report.minute));
    }
  }

  private async reply(question: Question): Promise<void> {
    this.answered = question.id;
    const text = this.answer?.(question.text);
    if (text !== undefined) await this.records!.answer(question, text);
  }
}

function added(counts: MinuteCounts): AddedMinute {
  return { minute: counts.minute, counts: JSON.stringify(counts), mostRules: MOST_RULES };
}
