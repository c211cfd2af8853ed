import type { Algorithm } from '../../contracts/algorithm.js';
import type { Clock } from '../../contracts/clock.js';
import type { Amendment, Ask, Block, Hit, Outcome, Store } from '../../contracts/store.js';
import { Call } from './call.js';
import {
  connect,
  firstConnection,
  isRedisConnection,
  REDIS_ALLOWED,
  type RedisConnection,
  type StoreClient,
} from './connection.js';
import { within } from './deadline.js';
import { readReply } from './reply.js';
import { assembleScript, type ScriptMain } from './script.js';

export interface RedisStoreOptions {
  /** A `redis://` or `rediss://` URL, ioredis options, or a client or Cluster you own (it is duplicated). */
  readonly redis: RedisConnection;
  /**
   * Milliseconds after which an unanswered command is given up, an integer from 1.
   * @default 50
   */
  readonly timeout?: number;
  /**
   * Tells the time in milliseconds since the epoch, so that a timeline can be replayed in tests.
   * @default the Redis server's own time
   */
  readonly clock?: Clock;
}

/** Holds the state in Redis: every request is decided there by one script, in one round trip. */
export class RedisStore implements Store {
  readonly source = 'redis';
  readonly clock: Clock;
  private readonly client: StoreClient;
  /** The clock that stands in for the server's. */
  private readonly replayed: Clock | undefined;
  private readonly commands = new Set<string>();
  private readonly timeout: number;
  private connecting: Promise<void> | undefined;
  /** Why there is no connection, which a command that finds none cannot tell. */
  private connectionError: Error | undefined;

  /** @throws TypeError or RangeError if an option is not as allowed */
  constructor({ redis, timeout = 50, clock }: RedisStoreOptions) {
    if (!isRedisConnection(redis)) {
      throw new TypeError(`redis: got ${JSON.stringify(redis)}; allowed: ${REDIS_ALLOWED}`);
    }
    if (!Number.isInteger(timeout) || timeout < 1) {
      throw new RangeError(`timeout: got ${String(timeout)}; allowed: an integer from 1, in milliseconds`);
    }
    this.clock = clock ?? Date.now;
    this.replayed = clock;
    this.timeout = timeout;
    this.client = connect(redis, timeout);
    this.client.on('error', (error) => {
      this.connectionError = error;
    });
    this.connecting = firstConnection(this.client).then(() => {
      this.connecting = undefined;
    });
  }

  async decide(hits: readonly Hit[], { dryRun = false, patience = 0 }: Ask): Promise<Outcome> {
    const call = new Call(hits, this.replayed);
    call.args.push(dryRun ? 1 : 0, patience === Infinity ? -1 : patience, hits.length);
    for (const hit of hits) call.addHit(hit);
    return readReply((await this.run('decide', call)) as number[]);
  }

  async amend(amendments: readonly Amendment[]): Promise<readonly boolean[]> {
    const call = new Call(amendments, this.replayed);
    for (const amendment of amendments) call.addAmendment(amendment);
    return ((await this.run('amend', call)) as number[]).map((amended) => amended === 1);
  }

  async block({ key, duration }: Block): Promise<void> {
    const call = new Call([], this.replayed);
    call.keys.push(key);
    call.args.push(duration);
    await this.run('block', call);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.ask(() => Promise.all(keys.map((key) => this.client.unlink(key))));
  }

  async close(): Promise<void> {
    this.client.disconnect();
  }

  private run(main: ScriptMain, { algorithms, keys, args }: Call): Promise<unknown> {
    const name = this.command(main, algorithms);
    const commands = this.client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return this.ask(() => commands[name]!(keys.length, ...keys, ...args));
  }

  /** Waits for the first connection, then no longer than the deadline for the answer. */
  private async ask<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    if (this.connecting) await this.connecting;
    try {
      return await within(this.timeout, command());
    } catch (error) {
      throw this.client.status === 'ready' ? error : (this.connectionError ?? error);
    }
  }

  /** The script for these algorithms, as the name of a command of the client. */
  private command(main: ScriptMain, algorithms: readonly Algorithm[]): string {
    const name = `rateLimit:${main}:${algorithms.map(({ name }) => name).join('+')}`;
    if (!this.commands.has(name)) {
      this.client.defineCommand(name, { lua: assembleScript(main, algorithms) });
      this.commands.add(name);
    }
    return name;
  }
}
