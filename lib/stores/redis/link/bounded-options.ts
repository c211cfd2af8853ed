import type { ClusterOptions, RedisOptions } from 'ioredis';
import { LONGEST_TIMER_MS } from '../../../contracts/timer.js';

/** Time limits of a connection, in milliseconds. */
export interface Bounds {
  readonly timeout: number;
  readonly connectTimeout: number;
  /** Time without a reply after which ioredis closes a connection. */
  readonly socketTimeout: number;
}

type BoundedOptions = ReturnType<typeof boundedOptions>;

/** Returns the pause before the next attempt to connect: exponential backoff with jitter. */
function pauseBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 5), 1000) * (0.5 + Math.random() / 2);
}

/**
 * Returns the options that override the user's on the connections of the store, so that ioredis cannot delay a command,
 * send it twice, queue it, mix up its reply or end the connection. See docs/adr/0041-overridden-client-options.md.
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
    commandTimeout: undefined, // The store has its own deadline, which starts when a call is written.
    blockingTimeout: undefined,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: null, // It might send a command again.
    enableAutoPipelining: false,
    noDelay: true,
    monitor: false,
    readOnly: false,
    role: 'master', // With Sentinel: a replica cannot decide.
    stringNumbers: false,
    replyMapping: 'legacy',
    retryStrategy: pauseBefore,
    sentinelRetryStrategy: pauseBefore, // Without it, ioredis stops reconnecting forever.
    himportFieldsets: undefined,
  } as const satisfies RedisOptions;
}

/**
 * Returns these options for a Cluster and for the connections to its nodes.
 *
 * @param nodes the user's options for the connections to the nodes: ioredis 5 drops them all when it duplicates a
 *   Cluster with one of them replaced
 */
export function boundedCluster(
  bounded: BoundedOptions,
  nodes: ClusterOptions['redisOptions'],
): ClusterOptions {
  return {
    enableOfflineQueue: false,
    lazyConnect: false,
    clusterRetryStrategy: pauseBefore,
    clusterNodeRetryStrategy: null, // The Cluster itself reconnects to its nodes.
    enableReadyCheck: false, // It queries a node that may not be connected yet. The nodes have their own checks.
    enableAutoPipelining: false,
    scaleReads: 'master',
    // Otherwise ioredis resends a failed command later, although it may have been executed or has timed out.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnMoved: 0,
    retryDelayOnTryAgain: 0, // Immediately, since it cannot be disabled.
    maxRedirections: 5,
    himportFieldsets: undefined,
    redisOptions: { ...nodes, ...ofNodes(bounded) },
  };
}

/** Returns the startup nodes, which may have their own options, with these options. */
export function boundedNodes(nodes: readonly unknown[], bounded: BoundedOptions): unknown[] {
  const own = ofNodes(bounded);
  return nodes.map((node) => (typeof node === 'object' && node !== null ? { ...node, ...own } : node));
}

/** Returns the options for the nodes; the Cluster sets the others. */
function ofNodes({
  enableOfflineQueue: _queue,
  retryStrategy: _retry,
  readOnly: _readOnly,
  himportFieldsets: _fieldsets,
  ...options
}: BoundedOptions) {
  return options;
}

/** Removes these options from the query of a URL, since ioredis would prefer them. */
export function boundedUrl(url: string, bounded: object): string {
  const [address = '', query] = url.split(/\?(.*)/s);
  if (query === undefined) return url;
  const options = new URLSearchParams(query);
  for (const name of Object.keys(bounded)) options.delete(name);
  return options.size > 0 ? `${address}?${options.toString()}` : address;
}
