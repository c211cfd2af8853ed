import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type {
  Amendment,
  Ask,
  Counter,
  Follower,
  Heartbeat,
  Hit,
  Outcome,
  Store,
  StoreChange,
} from '../../contracts/store.js';
import { Announcements } from './announcements.js';
import { announcersOf } from './announcers.js';
import { Batches } from './batches.js';
import { boundedParts, forEachPart } from './bounded-calls.js';
import { Call } from './call.js';
import { connect } from './connection.js';
import { Line } from './line.js';
import { takeBack, type Refund } from './lost-calls.js';
import { checkOptions, type RedisStoreOptions } from './redis.store.options.js';
import { RefundRetries } from './refund-retries.js';
import { ReplyReader, type DecideReply } from './reply.js';
import type { ScriptMain } from './script.js';
import { withTopology } from './topology.js';
import { serversOf, type Servers } from './servers.js';

/** Subjects that are tried until there is one for each server; only one that serves next to nothing has none. */
const MOST_TRIALS = 1000;

/** How long a server may take to answer the handshake. Line looks after a connection that stands. */
const HANDSHAKE_MS = 10_000;

/** How long the subscriber's server may take to answer a PING. */
const SUBSCRIBER_MS = 250;

/** Holds the state in Redis: every request is decided there by one script, in one round trip. */
export class RedisStore implements Store {
  readonly source = 'redis';
  readonly clock: Clock;
  readonly stopwatch: Clock;
  readonly timeout: number;
  private readonly connectTimeout: number;
  private readonly servers: Servers;
  private readonly line: Line;
  private readonly batches: Batches;
  private readonly retries: RefundRetries;
  private readonly announcements: Announcements;
  private readonly replayed: Clock | undefined;
  private closing: Promise<void> | undefined;
  private readonly refund: Refund = (amendments, isCertain) => this.retries.add(amendments, isCertain);

  /** @throws TypeError or RangeError if an option is not as allowed */
  constructor({ redis, timeout = 50, connectTimeout = 1000, clock }: RedisStoreOptions) {
    checkOptions(redis, { timeout, connectTimeout });
    const bounds = { timeout, connectTimeout, socketTimeout: Math.max(HANDSHAKE_MS, 5 * timeout) };
    this.clock = clock ?? Date.now;
    this.stopwatch = clock ?? (() => performance.now());
    this.replayed = clock; // It stands in for the server's.
    this.timeout = timeout;
    this.connectTimeout = connectTimeout;
    const client = connect(redis, bounds);
    this.servers = serversOf(client);
    this.line = new Line(client, this.servers, bounds);
    this.batches = new Batches(
      () => this.now(),
      (call) => this.line.run(call),
      this.servers,
      this.refund,
    );
    this.retries = new RefundRetries(
      (amendments) => this.amendTogether(amendments),
      (all) => this.servers.partition(all),
      this.clock,
    );
    const subscriber = { ...bounds, socketTimeout: Math.max(SUBSCRIBER_MS, 5 * timeout) };
    const announcers = announcersOf(client, redis, subscriber);
    this.announcements = new Announcements(announcers, this.servers, String(client.options?.keyPrefix ?? ''));
  }

  /**
   * Opens a store and finds out first whether a URL or options lead to a node of a Redis Cluster: it is
   * connected to as a Cluster then.
   *
   * @throws TypeError or RangeError if an option is not as allowed; Error if a client that is none of a Cluster
   *   leads to a node of one
   */
  static async open(options: RedisStoreOptions): Promise<RedisStore> {
    const { redis, timeout = 50, connectTimeout = 1000 } = options;
    checkOptions(redis, { timeout, connectTimeout });
    const bounds = { timeout, connectTimeout, socketTimeout: HANDSHAKE_MS };
    return new RedisStore({ ...options, redis: await withTopology(redis, bounds) });
  }

  decide(hits: readonly Hit[], ask: Ask): Promise<Outcome> {
    if (ask.within !== undefined) return this.decideAlone(hits, ask);
    return this.batches.decide(this.servers.slotOf(hits[0]!.key), hits, ask);
  }

  partition(hits: readonly Hit[]): readonly (readonly Hit[])[] {
    return this.servers.partition(hits) ?? [hits];
  }

  async amend(amendments: readonly Amendment[], ask?: Pick<Ask, 'within'>): Promise<readonly boolean[]> {
    const parts = (this.servers.partition(amendments) ?? [amendments]).flatMap(boundedParts);
    if (parts.length === 1) return this.amendTogether(amendments, ask?.within);
    const replies = await forEachPart(parts, (part) => this.amendTogether(part, ask?.within));
    const amended = new Map(parts.flatMap((part, at) => part.map((each, nth) => [each, replies[at]![nth]!])));
    return amendments.map((amendment) => amended.get(amendment)!);
  }

  async block({ key, block }: Counter, duration: number): Promise<void> {
    if (!block) return;
    await this.run(this.call('block', [block.key, key], duration));
    this.announcements.changed(key, false);
  }

  reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    return forEachPart(counters, async ({ key, block }) => {
      const removed = await this.run(this.call('reset', block ? [key, block.key] : [key]));
      this.announcements.changed(key, true);
      return removed !== 0;
    });
  }

  async heartbeat({ key, instance, duration }: Heartbeat): Promise<number> {
    if (this.closing) return 0;
    const alive = await this.run(this.call('heartbeat', [key], instance, duration));
    if (typeof alive === 'number') return alive;
    throw Object.assign(new Error(String(alive)), { name: 'ReplyError' });
  }

  follow(prefix: string, follower: Follower): void {
    this.announcements.follow(prefix, follower);
  }

  unfollow(prefix: string, follower: Follower): void {
    this.announcements.unfollow(prefix, follower);
  }

  hears({ key }: Counter): boolean {
    return this.announcements.hears(key);
  }

  watch(listener: (change: StoreChange) => void): void {
    this.line.watch(listener);
  }

  async ready(trial?: (subject: string) => Hit): Promise<void> {
    await this.line.ready();
    if (trial) await Promise.all(this.trials(trial).map((call) => this.line.try(call, this.connectTimeout)));
  }

  /** A call that decides, for each server. */
  private trials(trial: (subject: string) => Hit): Call[] {
    const hits = new Map<string, Hit>();
    for (let nth = 0; nth < MOST_TRIALS; nth += 1) {
      const hit = trial(`ready-${nth}`);
      const server = this.servers.of(hit.key);
      if (!hits.has(server)) hits.set(server, hit);
      if (hits.size >= this.servers.count) break;
    }
    return Array.from(hits.values(), (hit) => {
      const call = new Call(this.now());
      call.addRequest([hit], {});
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
    await this.line.close();
  }

  private async decideAlone(hits: readonly Hit[], ask: Ask): Promise<Outcome> {
    const call = new Call(this.now());
    call.addRequest(hits, ask);
    const reply = await this.run(call, ask.within).catch((error: unknown) => {
      takeBack(call, [{ hits, ask }], this.refund);
      throw error;
    });
    return new ReplyReader(reply as DecideReply).next(hits.length);
  }

  private async amendTogether(amendments: readonly Amendment[], within?: number): Promise<boolean[]> {
    const call = new Call(this.now(), 'amend');
    for (const amendment of amendments) call.addAmendment(amendment);
    const reply = (await this.run(call, within).catch((error: unknown) => {
      this.retries.add(call.isSent ? amendments.filter(isNamed) : amendments);
      throw error;
    })) as number[];
    for (const { key, kind } of amendments) if (kind !== 'renew') this.announcements.changed(key, false);
    return reply.map((amended) => amended === 1);
  }

  /** Microseconds by the clock that is replayed; `''` for the server's time. */
  private now(): number | '' {
    return this.replayed ? toMicroseconds(this.replayed()) : '';
  }

  /** Runs a script after what was asked for before. */
  private async run(call: Call, within?: number): Promise<unknown> {
    this.batches.flush();
    return this.line.run(call, within);
  }

  private call(script: ScriptMain, keys: readonly string[], ...args: (string | number)[]): Call {
    const call = new Call(this.now(), script);
    for (const key of keys) call.keys.add(key);
    call.add(...args);
    return call;
  }
}

/** Whether an amendment can be repeated: what has a name is given back once. */
function isNamed({ receipt }: Amendment): boolean {
  return typeof receipt === 'string';
}
