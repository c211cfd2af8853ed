import type { Algorithm } from '../../contracts/algorithm.js';
import type { Clock } from '../../contracts/clock.js';
import type {
  Amendment,
  Ask,
  Block,
  Heartbeat,
  Hit,
  Outcome,
  Store,
  StoreChange,
} from '../../contracts/store.js';
import { Call } from './call.js';
import { Circuits } from './circuits.js';
import {
  connect,
  firstConnection,
  isRedisConnection,
  REDIS_ALLOWED,
  type RedisConnection,
  type StoreClient,
} from './connection.js';
import { within } from './deadline.js';
import { isOutage } from './outage.js';
import { readReply } from './reply.js';
import { assembleScript, type ScriptMain } from './script.js';
import { serversOf, type Servers } from './servers.js';

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

/** A second, in microseconds. */
const PROBE_LASTS = 1e6;

/** Holds the state in Redis: every request is decided there by one script, in one round trip. */
export class RedisStore implements Store {
  readonly source = 'redis';
  readonly clock: Clock;
  readonly timeout: number;
  private readonly client: StoreClient;
  private readonly servers: Servers;
  private readonly circuits = new Circuits();
  /** The clock that stands in for the server's. */
  private readonly replayed: Clock | undefined;
  private readonly commands = new Set<string>();
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
    this.servers = serversOf(this.client);
    this.client.on('error', (error) => {
      this.connectionError = error;
    });
    this.client.on('ready', () => this.circuits.retry());
    this.connecting = firstConnection(this.client).then(() => {
      this.connecting = undefined;
    });
  }

  async decide(
    hits: readonly Hit[],
    { dryRun = false, patience = 0, within = this.timeout }: Ask,
  ): Promise<Outcome> {
    const call = new Call(hits, this.replayed);
    call.args.push(dryRun ? 1 : 0, patience === Infinity ? -1 : patience, hits.length);
    for (const hit of hits) call.addHit(hit);
    return readReply((await this.run('decide', call, within)) as number[]);
  }

  partition(hits: readonly Hit[]): readonly (readonly Hit[])[] {
    return this.servers.partition(hits) ?? [hits];
  }

  async amend(
    amendments: readonly Amendment[],
    { within = this.timeout }: Pick<Ask, 'within'> = {},
  ): Promise<readonly boolean[]> {
    const parts = this.servers.partition(amendments);
    if (!parts) return this.amendTogether(amendments, within);
    const replies = await Promise.all(parts.map((part) => this.amendTogether(part, within)));
    const amended = new Map(parts.flatMap((part, at) => part.map((each, nth) => [each, replies[at]![nth]!])));
    return amendments.map((amendment) => amended.get(amendment)!);
  }

  async block({ key, duration }: Block): Promise<void> {
    await this.run('block', this.callOf(key, duration), this.timeout);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.ask(key, this.timeout, () => this.client.unlink(key))));
  }

  async heartbeat({ key, instance, duration }: Heartbeat): Promise<number> {
    return (await this.run('heartbeat', this.callOf(key, instance, duration), this.timeout)) as number;
  }

  watch(listener: (change: StoreChange) => void): void {
    this.circuits.watch(listener);
  }

  async ready(): Promise<void> {
    await this.connecting;
    if (this.client.status === 'ready') return;
    const error = this.connectionError ?? new Error('no connection yet');
    this.circuits.of('').failed(error, () => within(this.timeout, this.client.ping()), true);
  }

  async close(): Promise<void> {
    this.circuits.close();
    this.client.disconnect();
  }

  private async amendTogether(amendments: readonly Amendment[], within: number): Promise<boolean[]> {
    const call = new Call(amendments, this.replayed);
    for (const amendment of amendments) call.addAmendment(amendment);
    return ((await this.run('amend', call, within)) as number[]).map((amended) => amended === 1);
  }

  private callOf(key: string, ...args: (string | number)[]): Call {
    const call = new Call([], this.replayed);
    call.keys.push(key);
    call.args.push(...args);
    return call;
  }

  private run(main: ScriptMain, call: Call, timeout: number): Promise<unknown> {
    return this.ask(call.keys[0]!, timeout, () => this.send(main, call));
  }

  private send(main: ScriptMain, { algorithms, keys, args }: Call): Promise<unknown> {
    const name = this.command(main, algorithms);
    const commands = this.client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return commands[name]!(keys.length, ...keys, ...args);
  }

  /** Waits for the first connection, then no longer than the deadline for the answer. */
  private async ask<Answer>(key: string, timeout: number, command: () => Promise<Answer>): Promise<Answer> {
    if (this.connecting) await this.connecting;
    const circuit = this.circuits.of(this.servers.of(key));
    circuit.check();
    try {
      const answer = await within(timeout, command());
      circuit.succeeded();
      return answer;
    } catch (failure) {
      const isGone = this.client.status !== 'ready';
      const error = isGone ? (this.connectionError ?? failure) : failure;
      if (isOutage(error)) circuit.failed(error, () => this.probe(key), isGone);
      throw error;
    }
  }

  /** Writes beside the key that failed, as a server that is read-only, full or loading cannot. */
  private probe(key: string): Promise<unknown> {
    return within(this.timeout, this.send('block', this.callOf(`${key}:probe`, PROBE_LASTS)));
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
