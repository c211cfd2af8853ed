import { Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { LONGEST_TIMER_MS } from '../../contracts/timer.js';
import { Deadline } from './deadline.js';
import { isUserClient, type RedisConnection } from './redis-option.js';

/** The part of an ioredis client or Cluster that the store uses. */
export interface StoreClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: {
    readonly keyPrefix?: string | Buffer | undefined;
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly path?: string | undefined;
    readonly sentinels?: unknown;
    readonly name?: string | undefined;
  };
  defineCommand(name: string, definition: { lua: string }): void;
  ping(): Promise<string>;
  /** A cluster's connections. */
  nodes?(role: 'master'): readonly StoreClient[];
  /** The socket, while there is one. */
  readonly stream?: { cork(): void; uncork(): void } | undefined;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'ready' | 'close', listener: () => void): unknown;
  once(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  disconnect(reconnect?: boolean): void;
}

/** A Cluster sends what failed once more after a while, though it may have been executed, or nobody waits for it. */
const NEVER_AGAIN = {
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 0, // at once, since it cannot be turned off
  maxRedirections: 5,
} as const;

/** How many milliseconds a client may take, to answer and to connect. */
export interface Bounds {
  readonly timeout: number;
  readonly connectTimeout: number;
  /** After how long without a reply ioredis gives a connection up. */
  readonly socketTimeout: number;
}

/**
 * A connection of our own whose every wait is bounded: a command is answered, fails, or is given up
 * after `timeout` milliseconds, is never queued for later and never sent twice.
 */
export function connect(redis: RedisConnection, bounds: Bounds): StoreClient {
  const bounded = boundedOptions(bounds);
  if (typeof redis === 'string') return new Redis(redis, bounded);
  if (!isUserClient(redis)) return new Redis({ ...redis, ...bounded });
  const duplicate = redis.duplicate.bind(redis) as (...args: unknown[]) => StoreClient;
  if (!redis.isCluster) return duplicate(bounded);
  const { redisOptions } = (redis.options ?? {}) as ClusterOptions;
  return duplicate([], boundedCluster(bounded, redisOptions));
}

/** A connection of a Cluster to one of its nodes. */
export interface ClusterNode extends StoreClient {
  readonly options: { readonly host?: string; readonly port?: number };
  duplicate(options: RedisOptions): StoreClient;
}

/** Another connection to a node of a cluster, as bounded as the first. */
export function connectToNode(node: ClusterNode, bounds: Bounds): StoreClient {
  return node.duplicate(boundedOptions(bounds));
}

/** Where a client connects to, for messages; empty for a Cluster. */
export function addressOf({ isCluster, options = {} }: StoreClient): string {
  const { host, port, path, sentinels, name } = options;
  if (isCluster) return '';
  if (sentinels) return `Sentinel "${name}"`;
  return path ?? `${host}:${port}`;
}

/**
 * Waits until the first connection stands or has failed, those to all masters if it is a cluster, and no
 * longer than so many milliseconds.
 */
export function firstConnection(client: StoreClient, timeout: number): Promise<void> {
  const stands = standsOrFailed(client)
    // A cluster is ready with its first node, and refuses what the others are to decide.
    .then(() => Promise.all((client.nodes?.('master') ?? []).map(standsOrFailed)))
    .then(() => undefined);
  return new Deadline(timeout).within(stands).catch(() => undefined);
}

function standsOrFailed(client: StoreClient): Promise<void> {
  if (client.status === 'ready' || client.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    let hasTimedOut = false;
    client.on('error', (error) => (hasTimedOut = error.message.startsWith(TIMED_OUT)));
    client.once('ready', resolve);
    client.once('end', resolve);
    // A process that was busy for as long finds its attempt given up, though it would have succeeded: the next one may.
    client.on('close', () => {
      if (!hasTimedOut) resolve();
      hasTimedOut = false;
    });
  });
}

const TIMED_OUT = 'connect ETIMEDOUT';

/**
 * Options of a Cluster whose every wait is bounded.
 *
 * @param nodes the options of the connections to its nodes: ioredis 5 duplicates a Cluster without them as
 *   soon as one of them is to be another
 */
function boundedCluster(bounded: ReturnType<typeof boundedOptions>, nodes: ClusterOptions['redisOptions']) {
  const { enableOfflineQueue, retryStrategy, ...redisOptions } = bounded;
  return {
    enableOfflineQueue,
    lazyConnect: false,
    clusterRetryStrategy: retryStrategy,
    enableReadyCheck: false, // it asks a node that may not be connected yet; the nodes have checks of their own
    ...NEVER_AGAIN,
    redisOptions: { ...nodes, ...redisOptions },
  } satisfies ClusterOptions;
}

function boundedOptions({ connectTimeout, socketTimeout }: Bounds) {
  return {
    lazyConnect: false,
    connectTimeout: Math.min(connectTimeout, LONGEST_TIMER_MS),
    socketTimeout: Math.min(socketTimeout, LONGEST_TIMER_MS),
    disconnectTimeout: 100,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    stringNumbers: false,
    replyMapping: 'legacy',
    retryStrategy: (attempt: number) =>
      Math.min(50 * 2 ** Math.min(attempt, 5), 1000) * (0.5 + Math.random() / 2),
  } as const satisfies RedisOptions;
}
