import { entryOf } from '../../../contracts/entry-of.js';
import type { StoreFault } from '../../../contracts/store-fault.js';
import type { Bounds } from './bounded-options.js';
import { ClusterServers, clusterFault, clusterOf, oneOfSeveral, roleOf, servesAllSlots } from './topology.js';
import {
  boundHandshake,
  connect,
  firstConnection,
  serverOf,
  type StoreClient,
  ConnectionState,
  addressOf,
} from './connection.js';
import { Deadline, DeadlineError } from './deadline.js';
import { isUserClient, type RedisConnection } from '../redis-option.js';
import { faultOf } from './fault.js';

/** The codes of a server that is a replica, or a master that has lost its replicas. */
const NOT_MASTER: readonly string[] = ['READONLY', 'MASTERDOWN', 'NOREPLICAS'];

/** Maximum number of keys to try until each server has one. */
const MOST_TRIALS = 1000;

/**
 * The client that the store uses now, its connection, and the servers of a Cluster.
 *
 * A URL or options may lead to a node of a Redis Cluster. Only the server reports this, after the first connection or
 * later; the client is then replaced by a Cluster. See docs/adr/0020-cluster-by-url.md.
 */
export class CurrentClient {
  client: StoreClient;
  /** The servers of a Redis Cluster; absent if the server is not in cluster mode. */
  cluster: ClusterServers | undefined;
  connection: ConnectionState;
  /** The option `keyPrefix` of the user's client. */
  readonly keyPrefix: string;
  /** Whether the server has replied like a node of a Redis Cluster. The next attempt does not query its role. */
  private isNode = false;
  /** Milliseconds that the server may take to reply while the store starts; fewer after the first timeout. */
  replyTimeout: number;
  /** Called before the client is replaced, to send the calls that wait for the present servers. */
  beforeReplaced = (): void => undefined;
  private readonly watchers: ((client: StoreClient) => void)[] = [];
  private readonly isOurs: boolean;
  private settling: Promise<boolean> | undefined;
  /** The Cluster that will replace the client. */
  private next: StoreClient | undefined;
  private isClosed = false;

  constructor(
    redis: RedisConnection,
    private readonly bounds: Bounds,
  ) {
    this.replyTimeout = bounds.connectTimeout;
    this.isOurs = typeof redis === 'string' || !isUserClient(redis);
    this.client = connect(redis, bounds);
    boundHandshake(this.client);
    if (this.client.isCluster) this.cluster = new ClusterServers(this.client);
    this.connection = new ConnectionState(this.client);
    this.keyPrefix = String(this.client.options.keyPrefix ?? '');
    // A node rejects any database other than 0, and the connection ends before its role can be queried.
    this.client.on('error', ({ message }) => {
      if (message.includes('SELECT is not allowed in cluster mode')) this.isNode = true;
    });
  }

  /** Returns the address of the server of a key; `''` if there is only one server, or it is unknown. */
  serverOf(key: string): string {
    return this.cluster ? this.cluster.of(key) : '';
  }

  /** Returns the key, or another one with its prefix, if it is on a server; `undefined` if none is found there. */
  keyOn(server: string, key: string): string | undefined {
    if (this.serverOf(key) === server) return key;
    return this.cluster?.keyOn(key, (its) => its === server);
  }

  /** Returns for each server the first of many values whose key it holds. A server with very few slots may have none. */
  firstByServer<Value>(of: (nth: number) => Value, keyOf: (value: Value) => string): Value[] {
    const values = new Map<string, Value>();
    const count = this.cluster?.count ?? 1;
    for (let nth = 0; nth < MOST_TRIALS && values.size < count; nth += 1) {
      const value = of(nth);
      entryOf(values, this.serverOf(keyOf(value)), () => value);
    }
    return [...values.values()];
  }

  /** Closes the connection to a server; a new one is opened. */
  hangUp(server: string): void {
    for (const node of this.client.nodes?.('master') ?? [this.client]) {
      if (!this.client.isCluster || serverOf(node) === server) node.disconnect(true);
    }
  }

  /** Calls back with the client, and with the one that replaces it. */
  watch(watcher: (client: StoreClient) => void): void {
    this.watchers.push(watcher);
    watcher(this.client);
  }

  /**
   * Replaces the client by a Cluster if the server is a node of a Redis Cluster.
   *
   * @returns whether the client was replaced
   * @throws StoreFault if the client cannot be replaced; Error if there is no connection to the Cluster
   */
  async settle(): Promise<boolean> {
    if (this.client.isCluster) return false;
    this.settling ??= this.becomeCluster();
    return this.settling.finally(() => (this.settling = undefined));
  }

  close(): void {
    this.isClosed = true;
    this.next?.disconnect();
    this.client.disconnect();
  }

  /**
   * Returns the fault for an error of a server.
   *
   * @param key the key that the error concerns, if messages may contain it
   */
  faultOf(server: string, error: unknown, key?: string): StoreFault {
    const { client, connection } = this;
    const about = { clientState: connection, of: server, ...(key && { key: this.keyPrefix + key }) };
    const fault = faultOf(error, server || addressOf(client), about);
    if (fault.code === 'MOVED' || fault.code === 'CROSSSLOT') this.isNode = true;
    if (NOT_MASTER.includes(fault.code)) connection.leaveReplica(fault);
    return fault;
  }

  /** Returns the fault for a failed call; without a connection, why there is none. */
  faultOfCall(server: string, error: unknown): StoreFault {
    return this.faultOf(server, this.connection.reasonOf(error));
  }

  private async becomeCluster(): Promise<boolean> {
    const { isNode } = this;
    // The address may lead to another server by now. One that rejects each connection cannot report its role.
    if (this.client.status === 'ready') this.isNode = false;
    const role = isNode ? 'node' : await this.answer(roleOf);
    if (!role || this.isClosed) return false;
    if (role !== 'node') throw role;
    if (this.isOurs) return this.replace(await this.connected(clusterOf(this.client)));
    if ((await this.answer(servesAllSlots)) === false) throw oneOfSeveral(this.client);
    this.cluster ??= new ClusterServers(this.client);
    return false;
  }

  /** Returns the reply of the server; `undefined` if there is none. */
  private async answer<Answer>(ask: (client: StoreClient) => Promise<Answer>): Promise<Answer | undefined> {
    if (this.client.status !== 'ready') return undefined;
    const { timeout, connectTimeout } = this.bounds;
    try {
      const answer = await new Deadline(this.replyTimeout).within(ask(this.client));
      this.replyTimeout = connectTimeout;
      return answer;
    } catch (error) {
      if (error instanceof DeadlineError) this.replyTimeout = timeout;
      return undefined;
    }
  }

  private async connected(cluster: RedisConnection): Promise<StoreClient> {
    const next = connect(cluster, this.bounds);
    boundHandshake(next);
    this.next = next;
    let reason = new Error('no connection yet');
    next.on('error', (error) => (reason = error));
    await firstConnection(next, this.bounds.connectTimeout);
    this.next = undefined;
    // Without slots, a Cluster is ready but has no nodes.
    const isUsable = next.status === 'ready' && next.nodes?.('master').length !== 0;
    if (isUsable && !this.isClosed) return next;
    next.disconnect();
    throw (await this.answer(clusterFault)) ?? reason;
  }

  private replace(next: StoreClient): true {
    this.beforeReplaced();
    const { client } = this;
    this.client = next;
    this.cluster = new ClusterServers(next);
    this.connection = new ConnectionState(next);
    for (const watcher of this.watchers) watcher(next);
    // Pending calls get their replies first.
    new Deadline(this.bounds.timeout).within(client.quit()).catch(() => client.disconnect());
    return true;
  }
}
