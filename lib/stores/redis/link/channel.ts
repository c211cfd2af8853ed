import type { Bounds } from './bounded-options.js';
import { connect, connectToNode, type ClusterNode, type StoreClient } from './connection.js';
import type { RedisConnection } from '../redis-option.js';
import type { CurrentClient } from './current-client.js';
import type { SubscriberClient } from './subscriber.js';
import type { StoreFault } from '../../../contracts/store-fault.js';
import { faultOf } from '../breaker/fault.js';

/** A server that announces changes. */
export interface Announcer {
  /** Opens a connection to subscribe with. */
  open(): SubscriberClient;
  /** Publishes a message over the connection that runs the Lua, whose rights decide whether changes are announced. */
  publish(channel: string, message: string): Promise<unknown>;
}

/** The servers that announce changes. */
export interface Announcers {
  /** Each server by address; `''` if there is only one server. */
  all(): ReadonlyMap<string, Announcer>;
  /** Calls a listener now, and whenever the servers may have changed. */
  watch(listener: () => void): void;
}

interface Publishes {
  publish(channel: string, message: string): Promise<unknown>;
}

/** A Cluster of ioredis, which discovers its nodes. */
interface ClusterClient extends StoreClient {
  nodes(role: 'master'): readonly (ClusterNode & Publishes)[];
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(
    event: '+node' | '-node' | 'refresh' | 'connect' | 'ready' | 'close' | 'end',
    listener: () => void,
  ): unknown;
}

/** Returns the server of a client, or all masters of a Cluster: each master announces its own changes. */
export function announcersOf(current: CurrentClient, redis: RedisConnection, bounds: Bounds): Announcers {
  const only: Announcer = {
    open: () => connect(redis, bounds) as SubscriberClient,
    publish: (channel, message) => (current.client as StoreClient & Publishes).publish(channel, message),
  };
  return {
    all: () =>
      current.client.isCluster ? mastersOf(current.client as ClusterClient, bounds) : new Map([['', only]]),
    watch: (listener) =>
      current.watch((client) => {
        listener();
        if (client.isCluster) watchMasters(client as ClusterClient, listener);
      }),
  };
}

function mastersOf(client: ClusterClient, bounds: Bounds): ReadonlyMap<string, Announcer> {
  return new Map(
    client.nodes('master').map((node) => {
      const { host, port } = node.options;
      const announcer: Announcer = {
        open: () => connectToNode(node, bounds) as SubscriberClient,
        publish: (channel, message) => node.publish(channel, message),
      };
      return [`${host}:${port}`, announcer];
    }),
  );
}

function watchMasters(client: ClusterClient, listener: () => void): void {
  for (const event of ['+node', '-node', 'refresh'] as const) client.on(event, listener);
}

/** The message that tries whether the server publishes. */
export const TRIAL = '';

/** The codes of a server that does not permit this user to subscribe or to publish. */
const NOT_PERMITTED: readonly string[] = ['NOPERM', 'UNKNOWN_COMMAND'];

/**
 * Finds servers that do not permit the limiter's user to publish or to subscribe. Then changes by other processes are not
 * reported. See docs/adr/0054-changes-that-are-not-reported.md.
 */
export class ChannelRights {
  private readonly listeners: ((fault: StoreFault) => void)[] = [];

  /** Calls back each time that a server does not permit it. */
  watch(listener: (fault: StoreFault) => void): void {
    this.listeners.push(listener);
  }

  /** Fails only if the server does not permit it: any other error also stops the calls that announce changes. */
  async tryToPublish(address: string, announcer: Announcer, channel: string): Promise<void> {
    await announcer.publish(channel, TRIAL).catch((error: unknown) => {
      if (isRefusal(faultOf(error, address))) throw error;
    });
  }

  /** Reports an error, if it is that of a missing right. */
  failed(address: string, error: unknown): void {
    const fault = faultOf(error, address);
    if (isRefusal(fault)) for (const listener of this.listeners) listener(fault);
  }
}

function isRefusal({ code }: StoreFault): boolean {
  return NOT_PERMITTED.includes(code);
}
