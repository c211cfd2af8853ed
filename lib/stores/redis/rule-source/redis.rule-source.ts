import { matching, readOptions } from '../../../contracts/options.js';
import { rejectConfig } from '../../../contracts/rate-limit-config.error.js';
import { RateLimitConflictError } from '../../../contracts/rate-limit-conflict.error.js';
import type { LuaModule } from '../../../contracts/lua-module.js';
import {
  checkChange,
  MOST_LIVE_RULES,
  MOST_RECORDS,
  tooManyRules,
  type RuleChange,
  type RuleChangeRecord,
  type RuleLoss,
  type RuleSource,
  type SourcedRules,
} from '../../../contracts/rule-source.js';
import { every } from '../../../contracts/timer.js';
import { Control } from '../link/control.js';
import { REDIS, type RedisConnection } from '../redis-option.js';
import beatRules from './beat-rules.lua.js';
import confirmRules from './confirm-rules.lua.js';
import loadRules from './load-rules.lua.js';
import {
  changeText,
  CONFIRM,
  fieldOf,
  keptParts,
  LOSSES,
  readRecord,
  recordText,
  rulesOf,
} from './stored-rule.js';
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

const KEY = matching(
  /^[\x21-\x7a\x7c\x7e]{1,64}$/,
  '1 to 64 printable ASCII characters without braces and spaces',
);

const OPTIONS = { redis: { ...REDIS, isRequired: true }, key: KEY };

/** Milliseconds in which a replica has to confirm a change: other calls on the connection wait meanwhile. */
const REPLICATED_MS = 700;

/** Milliseconds after which a process finds a change. */
const POLL_EVERY_MS = 250;

/** Milliseconds for which the version in force outlives the last process that has applied it, and lost rules too. */
const BEAT_KEPT_MS = 15_000;

/** Milliseconds between two copies of the rules in force, while they are lost. */
const KEEP_EVERY_MS = 5000;

/**
 * Holds live rules in Redis, for all processes: each reads the version every 250 ms.
 *
 * Its connection is apart from that of the decisions. It opens with the first use, and is shared with the operations page
 * and with sources of equal options. The user of Redis needs the rights that docs/live-rules.md lists.
 *
 * @example
 * RateLimitModule.forRoot({ redis: url, liveRules: new RedisRuleSource({ redis: url }) });
 */
export class RedisRuleSource implements RuleSource {
  private readonly control: Control;
  private readonly name: string;
  /** How many applications follow the changes. */
  private followers = 0;
  /** The rules of the last version that was not lost. */
  private inForce: ReturnType<typeof keptParts> | undefined;
  private loss: RuleLoss | undefined;
  private keptAt = -Infinity;

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RedisRuleSourceOptions) {
    const { redis, key = 'rl:rules' } = readOptions('RedisRuleSource', options, OPTIONS);
    this.control = new Control(redis);
    this.name = `{${key}}`;
  }

  async load(): Promise<SourcedRules> {
    const [version, reason, now, policy, kept, ...parts] = (await this.run(
      loadRules,
      MOST_LIVE_RULES,
    )) as string[] & [string, string, string, string, string];
    const stored = rulesOf(parts, Number(now));
    if (reason === '') {
      this.loss = undefined;
      this.inForce = version === '' ? undefined : { version, parts };
    } else {
      if (kept !== '') this.inForce = keptParts(kept);
      this.loss = { at: this.loss?.at ?? Number(now), reason: LOSSES[reason] ?? reason, stored };
    }
    const { inForce, loss } = this;
    return {
      version: loss ? `${inForce?.version} ${loss.reason}` : version,
      entries: loss && inForce ? rulesOf(inForce.parts, Number(now)) : stored,
      ...(loss && { loss }),
      ...(policy !== '' && { evicting: policy }),
    };
  }

  watch(changed: () => void): () => void {
    this.followers += 1;
    this.control.open();
    const last = { found: '', at: -Infinity };
    const poll = every(POLL_EVERY_MS, () => void this.poll(last, changed));
    return () => {
      poll.stop();
      this.followers -= 1;
    };
  }

  async write(change: RuleChange): Promise<number> {
    checkChange(change);
    const { expiresInMs = 0, version = '', inherit, rule } = change;
    const values = [fieldOf(change), changeText(change), expiresInMs, version, inherit === 'reset' ? 1 : 0];
    const reply = await this.run(writeRule, ...values, recordText(change), MOST_LIVE_RULES, MOST_RECORDS);
    const [outcome, current, replicas = '0'] = reply as [string, string, string?];
    if (outcome === 'lost') throw new RateLimitConflictError(rule, 0, `${LOSSES[current]}; ${CONFIRM}`);
    if (outcome === 'conflict') throw new RateLimitConflictError(rule, Number(current), Number(version));
    if (outcome === 'full') throw tooManyRules();
    if (replicas !== '0') await this.replicated(`of rule "${rule}"`, current, replicas);
    return Number(current);
  }

  /** Stores the rules in force again. */
  async restore(author: Pick<RuleChange, 'by' | 'reason'>): Promise<number> {
    return this.confirm(author, 'restored', JSON.stringify(this.inForce?.parts ?? []));
  }

  /** Puts the stored rules in force. */
  accept(author: Pick<RuleChange, 'by' | 'reason'>): Promise<number> {
    return this.confirm(author, 'accepted', '');
  }

  private async confirm(
    { by, reason }: Pick<RuleChange, 'by' | 'reason'>,
    loss: 'restored' | 'accepted',
    parts: string,
  ): Promise<number> {
    const record = JSON.stringify({ rule: '', by, reason, loss });
    const reply = await this.run(confirmRules, parts, record, MOST_RECORDS);
    const [outcome, version = '0', replicas = '0'] = reply as [string, string?, string?];
    if (outcome === 'whole') throw new RateLimitConflictError('', 0, 'no live rules are lost');
    if (outcome === 'gone')
      rejectConfig('rules.restore: no process has the lost rules; set them again after rules.accept()');
    if (outcome === 'unknown')
      throw new RateLimitConflictError('', 0, 'another process has later rules; try again');
    if (replicas !== '0') await this.replicated(loss, version, replicas);
    return Number(version);
  }

  /**
   * Waits until a replica has a change. WAIT is about the writes of its connection, which a read of the rules' slot finds.
   *
   * @throws Error if no replica confirms it in time
   */
  private async replicated(what: string, version: string, replicas: string): Promise<void> {
    const results = await this.control.call((redis) =>
      redis.pipeline().get(this.keyOf('version')).wait(1, REPLICATED_MS).exec(),
    );
    // Without the right to WAIT, the result is an error.
    if (results?.[1]?.[1] !== 0) return;
    throw new Error(
      `live rules: the change ${what} applies as version ${version}, but none of ${replicas} replicas has confirmed it within ${REPLICATED_MS} ms: a failover now would lose it`,
    );
  }

  async history(most: number): Promise<readonly RuleChangeRecord[]> {
    const records = await this.control.call((redis) => redis.lrange(this.keyOf('history'), 0, most - 1));
    return records.flatMap((record) => readRecord(record) ?? []);
  }

  async close(): Promise<void> {
    if (this.followers === 0) this.control.close(); // Another application may have the same source.
  }

  private keyOf(name: string): string {
    return `${this.name}:${name}`;
  }

  /** Runs a script, which gets the version in force first. */
  private run(script: LuaModule, ...args: (string | number)[]): Promise<unknown> {
    const keys = [this.name, ...['version', 'history', 'inforce', 'kept'].map((name) => this.keyOf(name))];
    return this.control.run(script, keys, [this.inForce?.version ?? '', ...args]);
  }

  /**
   * Calls back if something else would be loaded, or cannot be read: the next `load` finds out why.
   *
   * @param last what the last poll of this follower has found, and the server's time in milliseconds since the epoch. What
   *   was loaded does not count: other followers and `rules.get` load too. The version in force does: between two polls,
   *   rules may be restored and lost again.
   */
  private async poll(last: { found: string; at: number }, changed: () => void): Promise<void> {
    const inForce = this.inForce?.version;
    const beat = (await this.run(beatRules, BEAT_KEPT_MS).catch(() => undefined)) as
      [string, string, string, string] | undefined;
    const [version, reason, now, earlier] = beat ?? ['', '', '', ''];
    const found = [version, reason, inForce].join();
    // A clock that was set back: a rule that has ended in this process may go on.
    const isSetBack = Number(now) < last.at - 1000;
    // While rules are lost, a process that keeps later ones may store them at any time.
    const isWaiting = reason !== '' && earlier !== '';
    if (found !== last.found || !beat || isSetBack || isWaiting) changed();
    last.found = found;
    if (beat) last.at = Number(now);
    if (this.loss && earlier === '' && this.followers > 0) await this.keep().catch(() => undefined);
  }

  /** Keeps the rules in force for processes that start after the loss. */
  private async keep(): Promise<void> {
    const { inForce } = this;
    if (!inForce || performance.now() - this.keptAt < KEEP_EVERY_MS) return;
    const text = `${inForce.version}\n${JSON.stringify(inForce.parts)}`;
    await this.control.call((redis) => redis.set(this.keyOf('kept'), text, 'PX', BEAT_KEPT_MS));
    this.keptAt = performance.now();
  }
}
