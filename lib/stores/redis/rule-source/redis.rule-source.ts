import { readOptions, type OptionCheck } from '../../../contracts/options.js';
import { RateLimitConflictError } from '../../../contracts/rate-limit-conflict.error.js';
import {
  checkExpiry,
  MOST_LIVE_RULES,
  MOST_RECORDS,
  tooManyRules,
  type RuleChange,
  type RuleChangeRecord,
  type RuleSource,
  type SourcedRules,
} from '../../../contracts/rule-source.js';
import { every } from '../../../contracts/timer.js';
import { Announcements } from '../announcements.js';
import { announcersOf } from '../announcers.js';
import { ChannelRights } from '../channel-rights.js';
import { ClientFaults } from '../client-faults.js';
import { firstConnection } from '../connection.js';
import { Deadline } from '../deadline.js';
import { REDIS, type RedisConnection } from '../redis-option.js';
import { CurrentClient } from '../current-client.js';
import loadRules from './load-rules.lua.js';
import { changeText, fieldOf, readRecord, readRule, recordText } from './rule-text.js';
import writeRule from './write-rule.lua.js';

/** The options of a `RedisRuleSource`. */
export interface RedisRuleSourceOptions {
  /** The Redis server: a URL, ioredis options, or an ioredis client or Cluster that you own. */
  readonly redis: RedisConnection;
  /**
   * Key of the rules: 1 to 64 printable ASCII characters without braces and spaces. Its keys are in one slot of a
   * Cluster.
   *
   * @default 'rl:rules'
   */
  readonly key?: string;
}

const KEY: OptionCheck = {
  allowed: '1 to 64 printable ASCII characters without braces and spaces',
  accepts: (value) => typeof value === 'string' && /^[\x21-\x7a\x7c\x7e]{1,64}$/.test(value),
};

const OPTIONS = { redis: { ...REDIS, isRequired: true }, key: KEY };

/** Time limits of its connections and calls, in milliseconds. */
const BOUNDS = { timeout: 900, connectTimeout: 1000, socketTimeout: 2000 };

/** Milliseconds in which a replica has to confirm a change: other calls on the connection wait meanwhile. */
const REPLICATED_MS = 700;

/** Milliseconds after which a process finds a change whose message was lost. */
const POLL_EVERY_MS = 500;

/** A pipeline of ioredis, whose commands go to one server in one connection. */
interface Pipeline {
  get(key: string): Pipeline;
  wait(replicas: number, milliseconds: number): Pipeline;
  exec(): Promise<readonly (readonly [error: unknown, result: unknown])[] | null>;
}

/** The commands of ioredis that the source uses. */
interface Commands {
  eval(lua: string, keys: number, ...args: (string | number)[]): Promise<unknown>;
  get(key: string): Promise<string | null>;
  lrange(key: string, first: number, last: number): Promise<string[]>;
  pipeline(): Pipeline;
}

/**
 * Holds live rules in Redis, for all processes. Each process gets a message about a change, and reads the version every
 * 500 ms in case the message was lost.
 *
 * Its connections are its own: they open with the first use, and close with the application. The user of Redis needs the rights that
 * docs/live-rules.md lists.
 *
 * @example
 * RateLimitModule.forRoot({ redis: url, liveRules: new RedisRuleSource({ redis: url }) });
 */
export class RedisRuleSource implements RuleSource {
  private readonly deadline = new Deadline(BOUNDS.timeout);
  private readonly redis: RedisConnection;
  private readonly name: string;
  private opened: { readonly current: CurrentClient; readonly announcements: Announcements } | undefined;
  private isSettled = false;
  /** The first connection, which all calls wait for. */
  private settling: Promise<void> | undefined;
  private version: string | undefined;

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RedisRuleSourceOptions) {
    const { redis, key = 'rl:rules' } = readOptions('RedisRuleSource', options, OPTIONS);
    this.redis = redis;
    this.name = `{${key}}`;
  }

  async load(): Promise<SourcedRules> {
    const { name } = this;
    const reply = await this.call((redis) =>
      redis.eval(loadRules.text, 2, name, this.versionKey, MOST_LIVE_RULES),
    );
    const [version = '0', now, ...parts] = reply as string[];
    this.version = version;
    const fields = parts.filter((_part, index) => index % 2 === 0);
    const entries = fields.flatMap(
      (field, index) => readRule(field, parts[2 * index + 1]!, Number(now)) ?? [],
    );
    return { version, entries: entries.sort((one, other) => (one.version ?? 0) - (other.version ?? 0)) };
  }

  watch(changed: () => void): () => void {
    const { announcements } = this.open();
    const follower = { changed, trusted: changed };
    const channel = `${this.name}:changes`;
    announcements.follow(channel, follower);
    const poll = every(POLL_EVERY_MS, () => void this.poll(changed));
    return () => {
      poll.stop();
      announcements.unfollow(channel, follower);
    };
  }

  async write(change: RuleChange): Promise<number> {
    checkExpiry(change);
    const { expiresInMs = 0, version = '', inherit, rule } = change;
    const keys = [this.name, this.versionKey, this.historyKey];
    const values = [fieldOf(change), changeText(change), expiresInMs, version, inherit === 'reset' ? 1 : 0];
    const reply = await this.call((redis) =>
      redis.eval(writeRule.text, 3, ...keys, ...values, recordText(change), MOST_LIVE_RULES, MOST_RECORDS),
    );
    const [outcome, current, replicas = '0'] = reply as [string, string, string?];
    if (outcome === 'conflict') throw new RateLimitConflictError(rule, Number(current), Number(version));
    if (outcome === 'full') throw tooManyRules();
    if (replicas !== '0') await this.replicated(rule, current, replicas);
    return Number(current);
  }

  /**
   * Waits until a replica has a change. WAIT is about the writes of its connection, which a read of the rules' slot finds.
   *
   * @throws Error if no replica confirms it in time
   */
  private async replicated(rule: string, version: string, replicas: string): Promise<void> {
    const results = await this.call((redis) =>
      redis.pipeline().get(this.versionKey).wait(1, REPLICATED_MS).exec(),
    );
    // Without the right to WAIT, the result is an error.
    if (results?.[1]?.[1] !== 0) return;
    throw new Error(
      `live rules: the change of rule "${rule}" applies as version ${version}, but none of ${replicas} replicas has confirmed it within ${REPLICATED_MS} ms: a failover now would lose it`,
    );
  }

  async history(most: number): Promise<readonly RuleChangeRecord[]> {
    const records = await this.call((redis) => redis.lrange(this.historyKey, 0, most - 1));
    return records.flatMap((record) => readRecord(record) ?? []);
  }

  async close(): Promise<void> {
    this.opened?.announcements.close();
    this.opened?.current.close();
    this.deadline.close();
  }

  /** Connects with the first use, since the options of a module exist before the application starts. */
  private open(): { readonly current: CurrentClient; readonly announcements: Announcements } {
    if (this.opened) return this.opened;
    const current = new CurrentClient(this.redis, BOUNDS);
    current.client.on('error', () => undefined); // The call that fails reports it.
    const announcers = announcersOf(current, this.redis, BOUNDS);
    // Without the right to subscribe, the version that is read every 500 ms reports changes.
    const announcements = new Announcements(announcers, current, new ChannelRights());
    this.opened = { current, announcements };
    return this.opened;
  }

  private get versionKey(): string {
    return `${this.name}:version`;
  }

  private get historyKey(): string {
    return `${this.name}:history`;
  }

  /** Calls back if the version is another, or cannot be read: the next `load` finds out why. */
  private async poll(changed: () => void): Promise<void> {
    const version = await this.call((redis) => redis.get(this.versionKey)).catch(() => undefined);
    if (version === undefined || (version ?? '0') !== this.version) changed();
  }

  /** Connects first, to the whole Cluster if the server is a node of one. */
  private async call<Reply>(run: (redis: Commands) => Promise<Reply>): Promise<Reply> {
    const { current } = this.open();
    if (!this.isSettled) await (this.settling ??= this.settle(current));
    try {
      return await this.deadline.within(run(current.client as unknown as Commands));
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('MOVED')) this.isSettled = false;
      throw current.connection.isReady ? error : new ClientFaults(current).ofCall('', error);
    }
  }

  private async settle(current: CurrentClient): Promise<void> {
    try {
      await firstConnection(current.client, BOUNDS.connectTimeout);
      await current.settle();
      this.isSettled = current.client.status === 'ready';
    } finally {
      this.settling = undefined;
    }
  }
}
