import { randomBytes } from 'node:crypto';
import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import { readOptions } from '../../contracts/options.js';
import type {
  Adjustment,
  BaseStore,
  Counter,
  DecideOptions,
  Follower,
  Heartbeat,
  Hit,
  HitResult,
  SharedStore,
  StoreChange,
  TurnFollower,
} from '../../contracts/store.js';
import { Announcements, changesOf, turnsOf } from './announcements.js';
import { announcersOf } from './announcers.js';
import { Batches } from './batches.js';
import { ChannelRights } from './channel-rights.js';
import { boundedParts, forEachPart } from './bounded-calls.js';
import { Call, resetKey } from './call.js';
import { wasNotExecuted } from './not-executed.js';
import type { StoreFault } from '../../contracts/store-fault.js';
import type { LuaForm } from './functions.js';
import { library } from './library.js';
import { CallSender } from './call-sender.js';
import { refundLost, type Refund } from './lost-calls.js';
import { REDIS_STORE_OPTIONS, type RedisStoreOptions } from './redis.store.options.js';
import { OldLibraries } from './old-libraries.js';
import { RefundRetries } from './refund-retries.js';
import { failureIn, ReplyReader, type DecideReply } from './reply.js';
import type { Main } from './script.js';
import { Site } from './site.js';
import { Split } from './split.js';

/** Maximum number of subjects to try until each server has one. A server with very few slots may get none. */
const MOST_TRIALS = 1000;

/**
 * Time limit for the handshake of a connection. TCP retransmits packets that a broken network has dropped only seconds
 * after it has healed, so a new connection is faster. `CallSender` monitors established connections.
 */
const HANDSHAKE_MS = 2000;

/** Time limit for the answer to a PING on the subscriber's connection. */
const SUBSCRIBER_MS = 250;

/**
 * Stores the state in Redis. One script decides all rules of a request in one round trip.
 *
 * @example
 * const store = await RedisStore.open({ redis: 'redis://localhost' });
 */
export class RedisStore implements BaseStore, SharedStore {
  readonly source = 'redis';
  readonly shared: SharedStore = this;
  readonly clock: Clock;
  readonly stopwatch: Clock;
  readonly timeout: number;
  private readonly site: Site;
  private readonly sender: CallSender;
  private readonly batches: Batches;
  private readonly split: Split;
  private readonly retries: RefundRetries;
  private readonly oldLibraries: OldLibraries;
  private readonly announcements: Announcements;
  private readonly rights = new ChannelRights();
  private readonly replayed: Clock | undefined;
  private closing: Promise<void> | undefined;
  private readonly instance = randomBytes(6).toString('hex');
  private charges = 0;
  private readonly formListeners: ((form: LuaForm) => void)[] = [];
  private readonly refund: Refund = (adjustments, isCertain) => {
    // the server has just answered; a failed refund is retried
    if (isCertain) this.adjust(adjustments).catch(() => undefined);
    else this.retries.add(adjustments, { isUncertain: true });
  };

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RedisStoreOptions) {
    const read = readOptions('RedisStore', options, REDIS_STORE_OPTIONS);
    const { redis, timeout = 50, connectTimeout = 1000, functions = true, clock } = read;
    const bounds = { timeout, connectTimeout, socketTimeout: Math.max(HANDSHAKE_MS, 5 * timeout) };
    this.clock = clock ?? Date.now;
    this.stopwatch = clock ?? performance.now.bind(performance);
    this.replayed = clock; // replaces the server's clock
    this.timeout = timeout;
    this.site = new Site(redis, bounds, () => this.batches.flush());
    const lua = functions ? library() : undefined;
    this.sender = new CallSender(this.site, bounds, lua, (form) =>
      this.formListeners.forEach((each) => each(form)),
    );
    this.oldLibraries = new OldLibraries(this.site, lua, this.stopwatch);
    this.batches = new Batches(
      () => this.now(),
      (call) => this.sender.run(call),
      this.site,
      this.refund,
      (call, error) => this.sender.faultIn(call, error),
    );
    this.split = new Split(this, (part, how) => this.decideTogether(part, how));
    this.retries = new RefundRetries(
      (adjustments) => this.adjustTogether(adjustments),
      (all) => this.site.servers.partition(all),
      this.clock,
    );
    this.sender.watch(({ error }) => {
      if (error === undefined) this.retries.retryNow();
    });
    const subscriber = { ...bounds, socketTimeout: Math.max(SUBSCRIBER_MS, 5 * timeout) };
    const announcers = announcersOf(this.site, redis, subscriber);
    const keyPrefix = String(this.site.client.options?.keyPrefix ?? '');
    this.announcements = new Announcements(announcers, this.site, keyPrefix, this.rights);
  }

  /**
   * Opens a store and waits for the first connection. If the server is a node of a Redis Cluster, it connects to the
   * whole Cluster.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws Error if the server is a node of a Redis Cluster and cannot be connected as a Cluster
   */
  static async open(options: RedisStoreOptions): Promise<RedisStore> {
    const store = new RedisStore(options);
    await store.sender.connected();
    await store.site.settle().catch(() => undefined); // ready() reports passing faults
    const { problem } = store.site;
    if (!problem) return store;
    await store.close();
    throw new Error(`redis: ${problem.message}`);
  }

  decide(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    const parts = this.site.servers.partition(hits);
    return parts ? this.split.decide(hits, parts, options) : this.decideTogether(hits, options);
  }

  async adjust(
    adjustments: readonly Adjustment[],
    options?: Pick<DecideOptions, 'within'>,
  ): Promise<readonly boolean[]> {
    const named = adjustments.map((each) => this.named(each));
    const parts = (this.site.servers.partition(named) ?? [named]).flatMap(boundedParts);
    if (parts.length === 1) return this.adjustTogether(named, options?.within);
    const replies = await forEachPart(parts, (part) => this.adjustTogether(part, options?.within));
    const adjusted = new Map(
      parts.flatMap((part, at) => part.map((each, nth) => [each, replies[at]![nth]!])),
    );
    return named.map((adjustment) => adjusted.get(adjustment)!);
  }

  async block({ key, block }: Counter, duration: number): Promise<void> {
    if (!block) return;
    await this.run(this.call('block', [block.key, key], duration));
    this.announcements.changed(key, false);
  }

  reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    return forEachPart(counters, async ({ key, block }) => {
      const removed = await this.run(
        this.call('reset', [resetKey(key), key, ...(block ? [block.key] : [])], 1),
      );
      this.announcements.changed(key, true);
      return removed !== 0;
    });
  }

  async heartbeat({ key, instance, duration }: Heartbeat): Promise<number> {
    if (this.closing) return 0;
    this.oldLibraries.sweep(this.now()).catch(() => undefined);
    const alive = await this.run(this.call('heartbeat', [key], instance, duration));
    if (typeof alive === 'number') return alive;
    throw this.sender.faultOn(key, failureIn(alive) ?? alive);
  }

  follow(prefix: string, follower: Follower): void {
    this.announcements.follow(changesOf(prefix), follower);
  }

  unfollow(prefix: string, follower: Follower): void {
    this.announcements.unfollow(changesOf(prefix), follower);
  }

  followTurns(prefix: string, instance: string, follower: TurnFollower): () => void {
    const turns: Follower = {
      changed: (name) => follower.came(name.slice(prefix.length)),
      trusted: (isTrusted) => follower.trusted(isTrusted),
    };
    const resets: Follower = {
      changed: (key, isReset) => (isReset ? follower.cleared(key) : undefined),
      trusted: () => undefined,
    };
    const channels = [
      [turnsOf(prefix, instance), turns],
      [changesOf(prefix), resets],
    ] as const;
    for (const [channel, each] of channels) this.announcements.follow(channel, each);
    return () => channels.forEach(([channel, each]) => this.announcements.unfollow(channel, each));
  }

  isFollowed({ key }: Counter): boolean {
    return this.announcements.isFollowed(key);
  }

  watch(listener: (change: StoreChange) => void): void {
    this.sender.watch(listener);
  }

  /**
   * Whether the server is known to be a Redis Cluster.
   *
   * @internal
   */
  get isCluster(): boolean {
    return this.site.client.isCluster === true;
  }

  /**
   * Reports the form in which a server runs the Lua, when it is known.
   *
   * @internal
   */
  watchForms(listener: (form: LuaForm) => void): void {
    this.formListeners.push(listener);
  }

  /**
   * Reports that a server does not permit to publish or to subscribe, so that changes by other processes are not known.
   *
   * @internal
   */
  watchRefusals(listener: (fault: StoreFault) => void): void {
    this.rights.watch(listener);
  }

  async ready(trial?: (subject: string) => readonly Hit[]): Promise<void> {
    await this.sender.ready(() => (trial ? this.trials(trial) : []));
    const key = trial?.('ready')[0]?.key;
    if (key === undefined) return;
    const prefix = key.slice(0, key.indexOf('{'));
    await this.announcements.tryToPublish([changesOf(prefix), turnsOf(prefix, 'ready')], this.timeout);
  }

  /** One deciding call for each server. */
  private trials(trial: (subject: string) => readonly Hit[]): Call[] {
    const hits = new Map<string, readonly Hit[]>();
    const { count } = this.site.servers;
    for (let nth = 0; nth < MOST_TRIALS; nth += 1) {
      const some = trial(`ready-${nth}`);
      const server = this.site.servers.of(some[0]!.key);
      if (!hits.has(server)) hits.set(server, some);
      if (hits.size >= count) break;
    }
    return Array.from(hits.values(), (some) => {
      const call = new Call(this.now());
      call.addRequest(some, {});
      return call;
    });
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    this.announcements.close();
    this.batches.flush();
    await this.retries.close();
    await this.sender.close();
  }

  private decideTogether(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    if (options.within !== undefined) return this.decideAlone(hits, options);
    return this.batches.decide(this.site.servers.slotOf(hits[0]!.key), hits, options);
  }

  private async decideAlone(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    const call = new Call(this.now());
    call.addRequest(hits, options);
    const reply = await this.run(call, options.within).catch((error: unknown) => {
      refundLost(call, [{ hits, options }], this.refund);
      throw error;
    });
    try {
      return new ReplyReader(reply as DecideReply).next(hits.length);
    } catch (error) {
      throw this.sender.faultIn(call, error);
    }
  }

  private async adjustTogether(adjustments: readonly Adjustment[], within?: number): Promise<boolean[]> {
    const call = new Call(this.now(), 'adjust');
    for (const adjustment of adjustments) call.addAdjustment(adjustment);
    const reply = (await this.run(call, within).catch((error: unknown) => {
      if (!call.isSent) this.retries.add(adjustments);
      else this.retryIfNotMade(call, adjustments);
      throw error;
    })) as number[];
    for (const { key, kind } of adjustments)
      if (kind !== 'renew' && kind !== 'charge') this.announcements.changed(key, false);
    return reply.map((adjusted) => adjusted === 1);
  }

  /** Retries named adjustments at once, and others only when the server has reported that they were not made. */
  private retryIfNotMade({ reply }: Call, adjustments: readonly Adjustment[]): void {
    this.retries.add(adjustments.filter(isNamed), { isSent: true });
    reply?.catch((late: unknown) => {
      if (wasNotExecuted(late)) this.retries.add(adjustments.filter((adjustment) => !isNamed(adjustment)));
    });
  }

  /** Names a charge, so that it can be sent again when its reply is lost. */
  private named(adjustment: Adjustment): Adjustment {
    if (adjustment.kind !== 'charge') return adjustment;
    return { ...adjustment, once: { name: `${this.instance}-${++this.charges}`, until: Infinity } };
  }

  /** Microseconds of the injected clock; `''` for the server's time. */
  private now(): number | '' {
    return this.replayed ? toMicroseconds(this.replayed()) : '';
  }

  /** Runs a script after the calls that were made before it. */
  private async run(call: Call, within?: number): Promise<unknown> {
    this.batches.flush();
    return this.sender.run(call, within);
  }

  private call(script: Main, keys: readonly string[], ...args: (string | number)[]): Call {
    const call = new Call(this.now(), script);
    for (const key of keys) call.keys.add(key);
    call.add(...args);
    return call;
  }
}

/** Whether an adjustment can be repeated: a named one is applied once. */
function isNamed({ receipt, once }: Adjustment): boolean {
  return once !== undefined || typeof receipt === 'string';
}
