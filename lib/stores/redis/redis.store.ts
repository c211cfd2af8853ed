import type { Algorithm, Verdict } from '../../contracts/algorithm.js';
import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type { Hit, Store } from '../../contracts/store.js';
import {
  connect,
  firstConnection,
  isRedisConnection,
  REDIS_ALLOWED,
  type RedisConnection,
  type StoreClient,
} from './connection.js';
import { readReply } from './reply.js';
import { assembleScript } from './script.js';

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
  private readonly client: StoreClient;
  private readonly clock: Clock | undefined;
  private readonly commands = new Map<string, string>();
  private connecting: Promise<void> | undefined;

  /** @throws TypeError or RangeError if an option is not as allowed */
  constructor({ redis, timeout = 50, clock }: RedisStoreOptions) {
    if (!isRedisConnection(redis)) {
      throw new TypeError(`redis: got ${JSON.stringify(redis)}; allowed: ${REDIS_ALLOWED}`);
    }
    if (!Number.isInteger(timeout) || timeout < 1) {
      throw new RangeError(`timeout: got ${String(timeout)}; allowed: an integer from 1, in milliseconds`);
    }
    this.clock = clock;
    this.client = connect(redis, timeout);
    this.client.on('error', () => undefined); // a failing command tells its caller
    this.connecting = firstConnection(this.client).then(() => {
      this.connecting = undefined;
    });
  }

  async decide(hits: readonly Hit[], dryRun: boolean): Promise<readonly Verdict[]> {
    if (this.connecting) await this.connecting;
    const algorithms = distinctAlgorithms(hits);
    const call = this.command(algorithms);
    const keys = hits.map(({ key }) => key);
    return readReply(await call(keys.length, ...keys, ...this.encode(hits, algorithms, dryRun)));
  }

  async reset(keys: readonly string[]): Promise<void> {
    if (this.connecting) await this.connecting;
    await Promise.all(keys.map((key) => this.client.unlink(key)));
  }

  async close(): Promise<void> {
    this.client.disconnect();
  }

  /** ARGV as decide.lua reads it. */
  private encode(
    hits: readonly Hit[],
    algorithms: readonly Algorithm[],
    dryRun: boolean,
  ): (string | number)[] {
    const args: (string | number)[] = [this.clock ? toMicroseconds(this.clock()) : '', hits.length];
    for (const { algorithm, parameters } of hits) {
      const values = algorithm.parameters.map((name) => parameters[name]!);
      args.push(algorithms.indexOf(algorithm) + 1, values.length, ...values);
    }
    args.push(dryRun ? 1 : 0, hits.length);
    hits.forEach(({ cost }, index) => args.push(index + 1, cost));
    return args;
  }

  /** The script for these algorithms, as a command of the client. */
  private command(algorithms: readonly Algorithm[]): (...args: unknown[]) => Promise<number[]> {
    const id = algorithms.map(({ name }) => name).join('+');
    let name = this.commands.get(id);
    if (name === undefined) {
      name = `rateLimit:${id}`;
      this.client.defineCommand(name, { lua: assembleScript(algorithms) });
      this.commands.set(id, name);
    }
    const commands = this.client as unknown as Record<string, (...args: unknown[]) => Promise<number[]>>;
    return commands[name]!.bind(this.client);
  }
}

/** In one order, so that each set of algorithms is one script. */
function distinctAlgorithms(hits: readonly Hit[]): Algorithm[] {
  const algorithms = [...new Set(hits.map(({ algorithm }) => algorithm))];
  return algorithms.sort((a, b) => (a.name < b.name ? -1 : 1));
}
