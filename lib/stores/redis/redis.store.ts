import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import { readOptions } from '../../contracts/options.js';
import { StoreFault } from '../../contracts/store-fault.js';
import type { Adjustment, Counter, DecideOptions, Hit, HitResult } from '../../contracts/store.js';
import type {
  BaseStore,
  Follower,
  Heartbeat,
  HeartbeatWatcher,
  SharedStore,
  StoreChange,
  GrantFollower,
} from '../../contracts/base-store.js';
import { Adjuster } from './wire/adjuster.js';
import { ChangeFeed, changesOf } from './link/change-feed.js';
import { Batches, decideParts } from './wire/batches.js';
import { forEachPart } from './wire/bounded-calls.js';
import { Call, resetKey, type CallClock } from './wire/call.js';
import { CallQueue, TimedCalls } from './breaker/call-queue.js';
import { CircuitBreaker } from './breaker/circuit-breaker.js';
import { CurrentClient } from './link/current-client.js';
import { Deadline } from './link/deadline.js';
import { Functions, type FunctionSupport } from './wire/functions.js';
import { Heartbeats } from './wire/heartbeats.js';
import { library, OldLibraries } from './wire/library.js';
import { probeCalls } from './breaker/probes.js';
import { REDIS_STORE_OPTIONS, type RedisStoreOptions } from './redis.store.options.js';
import type { ScriptName } from './wire/script.js';

/** Time limit of a handshake: after a network has healed, a new connection is faster than TCP's retransmissions. */
const HANDSHAKE_MS = 2000;

/** Time limit for the answer to a PING on the subscriber's connection. */
const SUBSCRIBER_MS = 250;

/** A new call is rejected while another one has waited to be written for this many timeouts. */
const LONGEST_WAIT = 40;

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
  readonly awake: Clock = () => this.timed.deadline.now;
  private readonly current: CurrentClient;
  private readonly functions: Functions;
  private readonly timed: TimedCalls;
  private readonly breaker: CircuitBreaker;
  private readonly adjuster: Adjuster;
  private readonly batches: Batches;
  private readonly heartbeats: Heartbeats;
  private readonly oldLibraries: OldLibraries;
  private readonly feed: ChangeFeed;
  private readonly now: CallClock;
  private compareClocks: ((aheadMs: number) => void) | undefined;
  /** How far the clock of the server was ahead at the last heartbeat, in milliseconds. */
  private aheadMs = 0;
  private closing: Promise<void> | undefined;

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RedisStoreOptions) {
    const read = readOptions('RedisStore', options, REDIS_STORE_OPTIONS);
    const { redis, timeout = 50, connectTimeout = 1000, functions = true, clock } = read;
    const bounds = { timeout, connectTimeout, socketTimeout: Math.max(HANDSHAKE_MS, 5 * timeout) };
    this.timeout = timeout;
    this.clock = clock ?? Date.now;
    this.stopwatch = clock ?? performance.now.bind(performance);
    this.now = clock && (() => toMicroseconds(clock()));
    const current = (this.current = new CurrentClient(redis, bounds));
    const lua = functions ? library() : undefined;
    const deadline = new Deadline(timeout);

    // A call: compose(circuitBreaker, queue, deadline)(functions)
    this.functions = new Functions(current, lua);
    this.timed = new TimedCalls(this.functions, deadline, current);
    const openQueue = (): CallQueue => new CallQueue(this.timed, deadline, LONGEST_WAIT * timeout);
    this.breaker = new CircuitBreaker(openQueue, this.timed, current, connectTimeout);

    // A request: compose(split, batch)(call)
    const socketTimeout = Math.max(SUBSCRIBER_MS, 5 * timeout);
    this.feed = new ChangeFeed(current, { ...bounds, socketTimeout });
    const serverTime = (): number => this.clock() + this.aheadMs;
    this.adjuster = new Adjuster(this.breaker, current, this.feed, this.now, serverTime);
    this.batches = new Batches(this.breaker, this.adjuster, current, this.now);
    this.heartbeats = new Heartbeats(this.batches, current, this.now);
    this.oldLibraries = new OldLibraries(current, lua, this.stopwatch);
    this.breaker.watch(({ error }) => {
      if (error === undefined) this.adjuster.retries.retryNow();
    });
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
    await store.breaker.connected();
    const problem: unknown = await store.current.settle().catch((error: unknown) => error);
    // ready() reports passing faults.
    if (!(problem instanceof StoreFault) || problem.kind !== 'topology') return store;
    await store.close();
    throw new Error(`redis: ${problem.message}`);
  }

  decide(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    const parts = this.current.cluster?.partition(hits);
    return parts ? decideParts(this.batches, this, hits, parts, options) : this.batches.decide(hits, options);
  }

  adjust(
    adjustments: readonly Adjustment[],
    options?: Pick<DecideOptions, 'within'>,
  ): Promise<readonly boolean[]> {
    this.batches.flush(); // so that earlier requests are decided before
    return this.adjuster.adjust(adjustments, options?.within);
  }

  async block({ key, block }: Counter, duration: number): Promise<boolean> {
    const wasBlocked = block && (await this.batches.run(this.call('block', [block.key, key], duration)));
    this.feed.changed(key, false);
    return wasBlocked === 1;
  }

  reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    return forEachPart(counters, async (counter) => {
      const { key, block, algorithm } = counter;
      if (algorithm.clear) return this.clear(counter);
      const keys = [resetKey(key), key, ...(block ? [block.key] : [])];
      const removed = await this.batches.run(this.call('reset', keys, 1));
      this.feed.changed(key, true);
      return (removed as number) > 0;
    });
  }

  /** Resets one subject of an algorithm that keeps all subjects of a rule in one state. */
  private async clear(counter: Counter): Promise<boolean> {
    const call = new Call(this.now?.(), 'adjust');
    call.addClear(counter);
    const [cleared] = (await this.batches.run(call)) as number[];
    this.feed.changed(counter.key, false);
    return cleared === 1;
  }

  async heartbeat(heartbeat: Heartbeat): Promise<number> {
    if (this.closing) return 0;
    this.oldLibraries.sweep(this.now?.()).catch(() => undefined);
    const { alive, now } = await this.heartbeats.send(heartbeat);
    if (!this.now) {
      this.aheadMs = now / 1000 - this.clock();
      this.compareClocks?.(this.aheadMs);
    }
    return alive;
  }

  watchHeartbeats(watcher: HeartbeatWatcher): () => void {
    return this.heartbeats.watch(watcher);
  }

  watchClock(compare: (aheadMs: number) => void): void {
    this.compareClocks = compare;
  }

  follow(prefix: string, follower: Follower): void {
    this.feed.follow(changesOf(prefix), follower);
  }

  unfollow(prefix: string, follower: Follower): void {
    this.feed.unfollow(changesOf(prefix), follower);
  }

  followGrants(prefix: string, instance: string, follower: GrantFollower): () => void {
    return this.feed.followGrants(prefix, instance, follower);
  }

  isFollowed({ key }: Counter): boolean {
    return this.feed.isFollowed(key);
  }

  watch(listener: (change: StoreChange) => void): () => void {
    return this.breaker.watch(listener);
  }

  /** @internal */
  isProbing(server: string): boolean {
    return this.breaker.isProbing(server);
  }

  /** @internal Whether the server is known to be a Redis Cluster. */
  get isCluster(): boolean {
    return this.current.client.isCluster === true;
  }

  /** @internal Whether the server does not have the command INFO. */
  get hidesInfo(): boolean {
    return this.current.client.options.enableReadyCheck === false;
  }

  /** @internal Reports the form in which a server runs the Lua, when it is known. */
  watchFunctionSupport(listener: (form: FunctionSupport) => void): void {
    this.functions.watch(listener);
  }

  /** @internal Reports a server that does not permit to publish or to subscribe, so that changes by others are unknown. */
  watchRefusals(listener: (fault: StoreFault) => void): void {
    this.feed.watchRefusals(listener);
  }

  async ready(probe?: (subject: string) => readonly Hit[]): Promise<void> {
    await this.breaker.connected();
    await this.breaker.ready(() => (probe ? probeCalls(this.current, probe, this.now?.()) : []));
    const [prefix] = probe?.('ready')[0]?.key.split('{') ?? [];
    if (prefix !== undefined) await this.feed.tryToPublish(prefix, this.timeout);
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    this.feed.end();
    this.batches.flush();
    await this.adjuster.retries.close();
    await this.breaker.close();
    this.timed.close();
    this.current.close();
  }

  private call(script: ScriptName, keys: readonly string[], ...args: (string | number)[]): Call {
    const call = new Call(this.now?.(), script);
    for (const key of keys) call.addKey(key);
    call.add(...args);
    return call;
  }
}
