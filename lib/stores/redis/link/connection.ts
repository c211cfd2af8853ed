import { Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { boundedCluster, boundedNodes, boundedOptions, boundedUrl, type Bounds } from './bounded-options.js';
import { LONGEST_TIMER_MS } from '../../../contracts/timer.js';
import { Deadline, lacksConnection } from './deadline.js';
import { isUserClient, type RedisConnection } from '../redis-option.js';
import type { ReplyError } from './reply-error.js';

/** The part of an ioredis client or Cluster that the store uses. */
export type StoreClient = Omit<Redis, 'isCluster' | 'options' | 'stream'> & {
  readonly isCluster?: boolean;
  /** With the options of a Cluster for its nodes. */
  readonly options: Omit<RedisOptions, 'keyPrefix'> & {
    readonly keyPrefix?: string | Buffer | undefined;
    readonly redisOptions?: RedisOptions;
  };
  /** The connections of a Cluster. */
  nodes?(role: 'all' | 'master'): readonly StoreClient[];
  /** For each slot of a Cluster the addresses of its servers, the master first. */
  readonly slots?: readonly (readonly string[])[];
  /** The socket, while there is one. */
  readonly stream?: { cork(): void; uncork(): void } | undefined;
};

/**
 * Opens a connection for the store on which every wait is bounded: a command gets a reply, fails, or times out after
 * `timeout` milliseconds. It is never queued and never sent twice.
 */
export function connect(redis: RedisConnection, bounds: Bounds): StoreClient {
  const client = opened(redis, bounds) as StoreClient;
  forEachNode(client, prepare);
  return client;
}

function opened(redis: RedisConnection, bounds: Bounds): unknown {
  const bounded = boundedOptions(bounds);
  if (typeof redis === 'string') return new Redis(boundedUrl(redis, bounded), bounded);
  if (!isUserClient(redis)) return new Redis({ ...(redis as RedisOptions), ...bounded });
  const duplicate = redis.duplicate.bind(redis) as (...args: unknown[]) => unknown;
  if (!redis.isCluster) return duplicate(bounded);
  const { options = {}, startupNodes = [] } = redis as {
    readonly options?: ClusterOptions;
    readonly startupNodes?: readonly unknown[];
  };
  return duplicate(boundedNodes(startupNodes, bounds), boundedCluster(bounds, options.redisOptions));
}

/**
 * Lets a connection become ready on a server without the command INFO. With INFO, ioredis checks whether the server has loaded
 * its data; without it, ioredis would close each connection. A call to a server that is loading reports this itself.
 */
function prepare(client: StoreClient): void {
  client.on('error', (error) => {
    if (hidesInfo(error)) client.options.enableReadyCheck = false;
  });
  client.on('close', () => clearTimer(client));
}

/** Stops the timer of `socketTimeout`: that of ioredis 5 outlives its connection, and would end the next one. */
function clearTimer(client: object): void {
  const timed = client as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
  clearTimeout(timed.socketTimeoutTimer);
  timed.socketTimeoutTimer = undefined;
}

/** Calls back with a client, or with each node of a Cluster that ioredis has discovered, and will discover. */
export function forEachNode(client: StoreClient, use: (node: StoreClient) => void): void {
  for (const node of client.nodes?.('all') ?? [client]) use(node);
  if (client.isCluster) client.on('+node', use);
}

/** Whether an error is the reply of a server that does not have INFO: unlike NOAUTH and LOADING, it stays. */
function hidesInfo(error: ReplyError): boolean {
  return error.command?.name === 'info' && /^(ERR|NOPERM)\b/.test(error.message);
}

/**
 * Limits the `socketTimeout` of ioredis to the handshake of a connection. Later, it would end connections also when the
 * process was busy and has not read a reply yet, and start a timer for each command.
 */
export function boundHandshake(client: StoreClient): void {
  forEachNode(client, (node) => {
    const { options } = node;
    const { socketTimeout } = options;
    if (socketTimeout === undefined) return;
    const timed = node as unknown as { setSocketTimeout?: unknown };
    const { setSocketTimeout } = timed;
    node.on('ready', () => {
      options.socketTimeout = LONGEST_TIMER_MS;
      timed.setSocketTimeout = Function.prototype; // a function that does nothing
    });
    node.on('close', () => {
      options.socketTimeout = socketTimeout;
      timed.setSocketTimeout = setSocketTimeout;
    });
  });
}

/** Returns the address of a client's server, for messages; empty for a Cluster. */
export function addressOf({ isCluster, options }: StoreClient): string {
  const { host, port, path, sentinels, name, tls } = options;
  if (isCluster) return '';
  if (sentinels) return `Sentinel "${name}"`;
  return path ?? `${host}:${port}${tls ? ' over TLS' : ''}`;
}

/** Returns the address that identifies a node of a Redis Cluster. */
export function serverOf({ options: { host, port } }: StoreClient): string {
  return `${host}:${port}`;
}

/**
 * Waits until the first connection is established or has failed, and for a Cluster those to all masters, at most for
 * `timeout` milliseconds.
 */
export function firstConnection(client: StoreClient, timeout: number): Promise<void> {
  const over = new AbortController();
  const stands = standsOrFailed(client, over.signal)
    // A Cluster is ready with its first node, and rejects calls to the others until they are connected.
    .then(() =>
      Promise.all((client.nodes?.('master') ?? []).map((node) => standsOrFailed(node, over.signal))),
    )
    .then(() => undefined);
  return new Deadline(timeout).within(stands).catch(() => over.abort());
}

function standsOrFailed(client: StoreClient, over: AbortSignal): Promise<void> {
  if (client.status === 'ready' || client.status === 'end' || over.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    let isRepeated = false;
    // If the process was busy, the first attempt may have timed out although it would have succeeded: wait for the next.
    const failed = (error: Error): void =>
      void (isRepeated = error.message.startsWith(TIMED_OUT) || hidesInfo(error));
    const closed = (): void => {
      if (!isRepeated) done();
      isRepeated = false;
    };
    const done = (): void => {
      client.off('error', failed).off('close', closed).off('ready', done).off('end', done);
      over.removeEventListener('abort', done);
      resolve();
    };
    client.on('error', failed).on('close', closed).on('ready', done).on('end', done);
    over.addEventListener('abort', done);
  });
}

const TIMED_OUT = 'connect ETIMEDOUT';

/** Tracks whether a client is connected, and why not: a command without a connection does not report the reason. */
export class ConnectionState {
  readonly isCluster: boolean;
  readonly isTls: boolean;
  /** Whether it was connected before. */
  wasConnected: boolean;
  /** The error with which the server rejected the connection, until the connection has ended. */
  refusal: Error | undefined;
  /** Why the last connection ended, or could not be established. */
  private error: Error | undefined;
  /** Whether `error` already explains the next end of a connection. */
  private isExplained = false;
  /** When the connection was established or ended, in milliseconds since an arbitrary instant. */
  private changedAt = 0;

  constructor(private readonly client: StoreClient) {
    const { tls, redisOptions } = client.options;
    this.isCluster = Boolean(client.isCluster);
    this.isTls = Boolean(tls ?? redisOptions?.tls);
    this.wasConnected = this.isReady; // A Cluster that a URL led to is connected already.
    client.on('error', (error) => {
      this.endIfRefused(error);
      // ioredis 5 also reports errors of its own commands.
      if (!lacksConnection(error)) this.gaveUp(this.refusal ?? error);
    });
    client.on('connect', () => (this.isExplained = false));
    client.on('ready', () => {
      this.changedAt = performance.now();
      this.error = this.refusal;
      this.wasConnected ||= !this.refusal;
    });
    client.on('close', () => {
      this.refusal = undefined;
      if (!this.isExplained) this.error = new Error(client.isCluster ? NO_NODE : 'Connection is closed.');
      this.isExplained = false;
    });
  }

  get isReady(): boolean {
    return this.client.status === 'ready' && !this.refusal;
  }

  /** Records why the connection is about to end. */
  gaveUp(error: Error): void {
    this.error = error;
    this.isExplained = true;
  }

  /**
   * Ends a connection to a server that is no longer the master. After a failover, the name or the Sentinels may lead to
   * another one, while the old one keeps its connections. Until the new connection is ready, calls fail with the same
   * error, which must not end it. It waits for a PING, so that calls sent before get their replies.
   */
  leaveReplica(error: Error): void {
    if (this.isCluster || !this.isReady || performance.now() - this.changedAt < LEAVE_AFTER_MS) return;
    const at = (this.changedAt = performance.now());
    const leave = (): void => {
      if (!this.isReady || this.changedAt !== at) return;
      this.gaveUp(error);
      this.client.disconnect(true);
    };
    this.client.ping().then(leave, leave);
  }

  /** Returns why a call failed: without a connection, why there is none. */
  reasonOf(error: unknown): unknown {
    if (this.isReady) return error;
    return this.error ?? Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
  }

  /**
   * Ends a connection if the server rejects a needed command: after a failed SELECT, ioredis continues in database 0, and
   * ioredis 5.2 reports a connection as ready after a failed AUTH.
   */
  private endIfRefused(error: ReplyError): void {
    if (!NEEDED.includes(error.command?.name)) return;
    this.refusal = error;
    this.client.disconnect(true);
  }
}

/** How long a connection to a server that is no master is used until a new one is made. */
const LEAVE_AFTER_MS = 2000;

/** Commands without which a connection would use another database or another user. */
const NEEDED: readonly (string | undefined)[] = ['select', 'auth', 'hello'];

const NO_NODE = 'None of startup nodes is available';
