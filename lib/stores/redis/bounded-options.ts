import type { ClusterOptions, RedisOptions } from 'ioredis';
import { LONGEST_TIMER_MS } from '../../contracts/timer.js';

/** How many milliseconds a client may take, to answer and to connect. */
export interface Bounds {
  readonly timeout: number;
  readonly connectTimeout: number;
  /** After how long without a reply ioredis gives a connection up. */
  readonly socketTimeout: number;
}

type BoundedOptions = ReturnType<typeof boundedOptions>;

/** A pause before the next attempt to connect: longer each time, and never the same for all processes. */
function pauseBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 5), 1000) * (0.5 + Math.random() / 2);
}

/**
 * What a connection of ours goes by, whatever the user's says: nothing else of ioredis can delay a command, send
 * it twice, keep it for later, take it for another's or end the connection. See docs/adr/0041-options-of-ours.md.
 */
export function boundedOptions({
  connectTimeout,
  socketTimeout,
}: Pick<Bounds, 'connectTimeout' | 'socketTimeout'>) {
  return {
    lazyConnect: false,
    connectTimeout: Math.min(connectTimeout, LONGEST_TIMER_MS),
    socketTimeout: Math.min(socketTimeout, LONGEST_TIMER_MS),
    sentinelCommandTimeout: Math.min(socketTimeout, LONGEST_TIMER_MS),
    disconnectTimeout: 100,
    commandTimeout: undefined, // the deadline of a call begins when it is written, and is one of ours
    blockingTimeout: undefined,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: null, // it may send the command again
    enableAutoPipelining: false,
    noDelay: true,
    monitor: false,
    readOnly: false,
    role: 'master', // of those that Sentinel knows: a replica cannot decide
    stringNumbers: false,
    replyMapping: 'legacy',
    retryStrategy: pauseBefore,
    sentinelRetryStrategy: pauseBefore, // without one, ioredis gives up for ever
    himportFieldsets: undefined,
  } as const satisfies RedisOptions;
}

/**
 * The same for a Cluster, and for the connections to its nodes.
 *
 * @param nodes the user's options of the connections to its nodes: ioredis 5 duplicates a Cluster without them
 *   as soon as one of them is to be another
 */
export function boundedCluster(
  bounded: BoundedOptions,
  nodes: ClusterOptions['redisOptions'],
): ClusterOptions {
  return {
    enableOfflineQueue: false,
    lazyConnect: false,
    clusterRetryStrategy: pauseBefore,
    clusterNodeRetryStrategy: null, // the Cluster connects to its nodes anew
    enableReadyCheck: false, // it asks a node that may not be connected yet; the nodes have checks of their own
    enableAutoPipelining: false,
    scaleReads: 'master',
    // What failed is sent once more after a while, though it may have been executed, or nobody waits for it.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnMoved: 0,
    retryDelayOnTryAgain: 0, // at once, since it cannot be turned off
    maxRedirections: 5,
    himportFieldsets: undefined,
    redisOptions: { ...nodes, ...ofNodes(bounded) },
  };
}

/** The nodes to start from, which may have options of their own. */
export function boundedNodes(nodes: readonly unknown[], bounded: BoundedOptions): unknown[] {
  const own = ofNodes(bounded);
  return nodes.map((node) => (typeof node === 'object' && node !== null ? { ...node, ...own } : node));
}

/** A Cluster states the others for its nodes. */
function ofNodes({
  enableOfflineQueue: _queue,
  retryStrategy: _retry,
  readOnly: _readOnly,
  himportFieldsets: _fieldsets,
  ...options
}: BoundedOptions) {
  return options;
}

/** A URL without the options that are ours: ioredis would let what it says go before. */
export function boundedUrl(url: string, bounded: BoundedOptions): string {
  const [place = '', query] = url.split(/\?(.*)/s);
  if (query === undefined) return url;
  const options = new URLSearchParams(query);
  for (const name of Object.keys(bounded)) options.delete(name);
  return options.size > 0 ? `${place}?${options.toString()}` : place;
}
