import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';

import { hostname } from 'node:os';
import type { BaseStore } from '../../contracts/base-store.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { every, type Timer } from '../../contracts/timer.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import { denialIds } from '../../limiter/denial-id.js';
import { RateLimitEvents } from '../../limiter/events.js';
import type { ProcessRecords, Question, Writer } from '../../stores/redis/link/process-records.js';
import { openProcessRecords } from '../../stores/redis/open-redis-store.js';
import { RuleTable } from '../../nest/rules/rule-table.js';
import { DASHBOARD_OPTIONS, type RateLimitDashboardOptions } from '../dashboard.options.js';
import { DenialRecord } from '../explain/denial-record.js';
import type { RateLimitModuleOptions } from '../../nest/rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_REDIS, RATE_LIMIT_STORE } from '../../nest/tokens.js';
import type { BreakerState } from '../snapshot.js';
import { Collector } from './collector.js';
import { readReport, reportOf, type ProcessReport, type ServerStates } from './process-report.js';

const PUBLISHED_EVERY_MS = 1000;
/** Reports that were read are used for this long. */
const FRESH_MS = 400;

/** The reports of all processes. */
export interface AllReports {
  readonly reports: readonly ProcessReport[];
  /** A random text that these processes share. */
  readonly secret: string;
  /** Milliseconds since each process has reported, by its id. */
  readonly seenMs: ReadonlyMap<string, number>;
  /** Why the reports are those of this process only. */
  readonly problem?: string;
}

/** Counts the decisions of this process, publishes them in Redis once a second, and reads those of all processes. */
@Injectable()
export class ProcessReports implements OnModuleInit, OnModuleDestroy {
  readonly collector: Collector;
  /** Access to the other processes; `undefined` if limits are counted in the memory of this process. */
  records: ProcessRecords | undefined;
  /** Answers a question of a process; `undefined` if it has no answer. */
  answer: ((text: string) => string | undefined) | undefined;
  private readonly since = Date.now();
  private secret = randomBytes(32).toString('hex');
  private readonly servers = new Set<string>();
  private readonly seen = new Map<string, { readonly mark: number; readonly at: number }>();
  private timer: Timer | undefined;
  private answered: string | undefined;
  private last: { readonly at: number; readonly all: Promise<AllReports> } | undefined;

  constructor(
    @Inject(RateLimitEvents) private readonly events: RateLimitEvents,
    @Inject(RATE_LIMIT_STORE) private readonly store: BaseStore,
    @Inject(RATE_LIMIT_REDIS) private readonly client: object | null,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
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
      throw new RateLimitConfigError([
        'RateLimitDashboardModule: imported twice; allowed: one operations page in an application, with guards that tell its users apart',
      ]);
    }
    const { redis } = this.options;
    if (!this.client || !redis) return;
    this.records = await openProcessRecords(redis, this.limiter.engine.keys.shared('instances'), this.id);
    this.events.on('breaker', ({ server }) => this.servers.add(server));
    this.timer = every(PUBLISHED_EVERY_MS, () => void this.publish());
    void this.publish();
  }

  async onModuleDestroy(): Promise<void> {
    this.timer?.stop();
    this.events.observe(undefined);
    await this.records?.end();
  }

  get id(): string {
    return this.limiter.engine.keys.instance;
  }

  /** Returns the reports of all processes, at most 0.4 s old; only that of this process if Redis cannot be read. */
  all(): Promise<AllReports> {
    const now = performance.now();
    if (!this.last || now - this.last.at > FRESH_MS) this.last = { at: now, all: this.read() };
    return this.last.all;
  }

  /** Returns the processes that write ids of denials, and those that did. */
  async writers(): Promise<readonly Writer[]> {
    return this.records ? this.records.writers() : [this.writer];
  }

  private get writer(): Writer {
    return { id: this.id, key: denialIds.key.toString('hex'), seenAt: Date.now() };
  }

  private async read(): Promise<AllReports> {
    const own = this.own();
    const alone = { reports: [own], secret: this.secret, seenMs: new Map([[own.id, 0]]) };
    if (!this.records) return alone;
    try {
      const { secret, texts } = await this.records.read();
      this.secret = secret;
      const others = texts.map(readReport).filter((report) => report !== undefined && report.id !== own.id);
      const reports = [own, ...(others as ProcessReport[])];
      return { reports, secret, seenMs: this.ages(reports) };
    } catch (error) {
      const { message } = error as Error;
      return {
        ...alone,
        problem: `Redis cannot be read (${message}): these are the figures of one process.`,
      };
    }
  }

  /** Measured by the clock of this process, since those of others may differ. */
  private ages(reports: readonly ProcessReport[]): Map<string, number> {
    const now = performance.now();
    const ages = reports.map(({ id, second, span }) => {
      const mark = second + span;
      const seen = this.seen.get(id);
      const known = seen?.mark === mark && id !== this.id ? seen : { mark, at: now };
      return [id, known] as const;
    });
    this.seen.clear();
    for (const [id, known] of ages) this.seen.set(id, known);
    return new Map(ages.map(([id, { at }]) => [id, Math.round(now - at)]));
  }

  private own(): ProcessReport {
    const identity = { id: this.id, host: hostname(), pid: process.pid, since: this.since };
    return reportOf(identity, this.collector, this.serverStates());
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
    try {
      const question = await this.records!.publish(JSON.stringify(this.own()), this.writer.key);
      if (question && question.id !== this.answered) await this.reply(question);
    } catch {
      // The breaker reports that Redis fails, and `read` what the page does not show.
    }
  }

  private async reply(question: Question): Promise<void> {
    this.answered = question.id;
    const text = this.answer?.(question.text);
    if (text !== undefined) await this.records!.answer(question, text);
  }
}
