import {
  checkChange,
  MOST_LIVE_RULES,
  MOST_RECORDS,
  tooManyRules,
  type RuleChange,
  type RuleChangeRecord,
  type RuleSource,
  type SourcedRule,
  type SourcedRules,
} from '../contracts/rule-source.js';
import type { Clock } from '../contracts/clock.js';
import { RateLimitConflictError } from '../contracts/rate-limit-conflict.error.js';

/** Steps of the clock up to this length move no change. */
const SLACK_MS = 1000;

interface Held extends Omit<SourcedRule, 'expiresInMs'> {
  readonly version: number;
  readonly at: number;
  readonly until: number;
}

/**
 * Holds live rules in the memory of the process, for tests and for applications of one process. A restart clears it.
 *
 * @example
 * RateLimitModule.forRoot({ liveRules: new MemoryRuleSource() });
 */
export class MemoryRuleSource implements RuleSource {
  private readonly held = new Map<string, Held>();
  private readonly records: RuleChangeRecord[] = [];
  private readonly watchers = new Set<() => void>();
  private version = 0;

  /** @param clock milliseconds since the epoch; by default the clock of the system */
  constructor(private readonly clock: Clock = Date.now) {}

  async load(): Promise<SourcedRules> {
    const now = this.now();
    const valid = [...this.held.values()].filter(({ until }) => until > now);
    const entries = valid.map(({ until, ...entry }) => ({
      ...entry,
      expiresInMs: until === Infinity ? undefined : until - now,
    }));
    return { version: this.version, entries };
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => void this.watchers.delete(changed);
  }

  async write(change: RuleChange): Promise<number> {
    const { rule, subject, fields, expiresInMs = Infinity, by, reason, inherit } = change;
    checkChange(change);
    const now = this.now();
    const key = JSON.stringify([rule, subject]);
    const held = this.held.get(key);
    const known = held && held.until > now ? held : undefined;
    const current = known?.version ?? 0;
    if (change.version !== undefined && change.version !== current) {
      throw new RateLimitConflictError(rule, current, change.version);
    }
    if (fields !== undefined && !held && this.held.size >= MOST_LIVE_RULES) {
      for (const [ended, { until }] of this.held) if (until <= now) this.held.delete(ended);
      if (this.held.size >= MOST_LIVE_RULES) throw tooManyRules();
    }
    const version = ++this.version;
    const counter = inherit === 'reset' ? String(version) : known?.counter;
    const entry = { rule, subject, fields, by, reason, version, at: now };
    if (fields === undefined) this.held.delete(key);
    else this.held.set(key, { ...entry, fields, counter, until: now + expiresInMs });
    this.records.unshift({ ...entry, expiresInMs: change.expiresInMs, inherit });
    this.records.splice(MOST_RECORDS);
    for (const changed of this.watchers) changed();
    return version;
  }

  async history(most: number): Promise<readonly RuleChangeRecord[]> {
    return this.records.slice(0, most);
  }

  /** Reads the clock. If it was set back, changes keep the length that they had when they were made. */
  private now(): number {
    const now = this.clock();
    for (const [key, change] of this.held) {
      const by = change.at - now;
      if (by > SLACK_MS) this.held.set(key, { ...change, at: now, until: change.until - by });
    }
    return now;
  }
}
