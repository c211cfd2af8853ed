import type { ClusterOptions, RedisOptions } from 'ioredis';
import { LONGEST_TIMER_MS } from '../../../contracts/timer.js';

/** Time limits of a connection, in milliseconds. */
export interface Bounds {
  readonly timeout: number;
  readonly connectTimeout: number;
  /** Time without a reply after which ioredis closes a connection. */
  readonly socketTimeout: number;
}

/** Returns the pause before the next attempt to connect: exponential backoff with jitter. */
function pauseBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 5), 1000) * (0.5 + Math.random() / 2);
}

/** The part of a Cluster that determines through which nodes it reconnects. */
interface Reconnecting {
  startupNodes: readonly unknown[];
  /** For each slot the addresses of its servers. */
  readonly slots: readonly (readonly string[])[];
}

/**
 * Returns the pause before an attempt of a Cluster to reconnect. Every second attempt begins with the nodes that the
 * Cluster knew last, since those given may have left it. One attempt with both would end if one name cannot be resolved.
 */
function pauseOfCluster() {
  let given: readonly unknown[] | undefined;
  return function (this: Reconnecting, attempt: number): number {
    given ??= this.startupNodes;
    const known = [...new Set(this.slots.flat())].map(placeOf);
    this.startupNodes = attempt % 2 === 1 && known.length > 0 ? known : given;
    return pauseBefore(attempt);
  };
}

function placeOf(address: string): { host: string; port: number } {
  const end = address.lastIndexOf(':'); // An IPv6 address has no brackets.
  return { host: address.slice(0, end), port: Number(address.slice(end + 1)) };
}

/** Returns the options of a connection also to a node of a Cluster, which sets the others itself. */
function ofNode({ connectTimeout, socketTimeout }: Bounds) {
  return {
    lazyConnect: false,
    connectTimeout: Math.min(connectTimeout, LONGEST_TIMER_MS),
    socketTimeout: Math.min(socketTimeout, LONGEST_TIMER_MS),
    sentinelCommandTimeout: Math.min(socketTimeout, LONGEST_TIMER_MS),
    disconnectTimeout: 100,
    commandTimeout: undefined, // The store has its own deadline, which starts when a call is written.
    blockingTimeout: undefined,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: null, // It might send a command again.
    enableAutoPipelining: false,
    noDelay: true,
    monitor: false,
    role: 'master', // With Sentinel: a replica cannot decide.
    stringNumbers: false,
    replyMapping: 'legacy',
    sentinelRetryStrategy: pauseBefore, // Without it, ioredis stops reconnecting forever.
  } as const satisfies RedisOptions;
}

/**
 * Returns the options that override the user's on the connections of the store, so that ioredis cannot delay a command,
 * send it twice, queue it, mix up its reply or end the connection. See docs/adr/0041-overridden-client-options.md.
 */
export function boundedOptions(bounds: Bounds) {
  return {
    ...ofNode(bounds),
    enableOfflineQueue: false,
    readOnly: false,
    retryStrategy: pauseBefore,
    himportFieldsets: undefined,
  } as const satisfies RedisOptions;
}

/**
 * Returns these options for a Cluster and for the connections to its nodes.
 *
 * @param nodes the user's options for the connections to the nodes: ioredis 5 drops them all when it duplicates a
 *   Cluster with one of them replaced
 */
export function boundedCluster(bounds: Bounds, nodes: ClusterOptions['redisOptions']): ClusterOptions {
  return {
    enableOfflineQueue: false,
    lazyConnect: false,
    clusterRetryStrategy: pauseOfCluster(),
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
    redisOptions: { ...nodes, ...ofNode(bounds) },
  };
}

/** Returns the startup nodes, which may have their own options, with these options. */
export function boundedNodes(nodes: readonly unknown[], bounds: Bounds): unknown[] {
  return nodes.map((node) =>
    typeof node === 'object' && node !== null ? { ...node, ...ofNode(bounds) } : node,
  );
}

/** Removes these options from the query of a URL, since ioredis would prefer them. */
export function boundedUrl(url: string, bounded: object): string {
  const [address = '', query] = url.split(/\?(.*)/s);
  if (query === undefined) return url;
  const options = new URLSearchParams(query);
  for (const name of Object.keys(bounded)) options.delete(name);
  return options.size > 0 ? `${address}?${options.toString()}` : address;
}
