import { shown } from '../../../contracts/shown.js';
import type { Follower, GrantFollower } from '../../../contracts/base-store.js';
import { StoreFault } from '../../../contracts/store-fault.js';
import { faultOf } from './fault.js';
import { Deadline } from './deadline.js';
import type { Bounds } from './bounded-options.js';
import { connect, serverOf, type StoreClient } from './connection.js';
import type { CurrentClient } from './current-client.js';
import { Subscriber } from './subscriber.js';

/** The message that tries whether the server publishes. */
const PROBE = '';

/** The codes of a server that does not permit this user to subscribe or to publish. */
const NOT_PERMITTED: readonly string[] = ['NOPERM', 'UNKNOWN_COMMAND'];

/** Prefix of the key in the message of a reset. No key begins with it. */
const RESET = ' ';

/** Within this time, the other masters of a Cluster repeat a message of one master. */
const ECHO_MS = 1000;
const MOST_RESETS = 1000;

/**
 * Reports changes by other processes to followers, and whether all changes are reported: not if a server does not permit
 * the limiter's user to publish or to subscribe. See docs/adr/0054-changes-that-are-not-reported.md.
 */
export class ChangeFeed {
  private readonly followers = new Map<string, Set<Follower>>();
  private readonly subscribers = new Map<string, Subscriber>();
  /** The last resets by key: the server that announced one first, and until when others repeat it. */
  private readonly resets = new Map<string, { readonly address: string; readonly until: number }>();
  private readonly refused: ((fault: StoreFault) => void)[] = [];
  private isEnded = false;

  /** @param bounds those of the connections to subscribe with */
  constructor(
    private readonly current: CurrentClient,
    private readonly bounds: Bounds,
  ) {
    current.watch((client) => this.watch(client));
  }

  /** Calls back each time that changes cannot be reported: because a server does not permit it, or of the `keyPrefix`. */
  watchRefusals(listener: (fault: StoreFault) => void): void {
    this.refused.push(listener);
  }

  /** @param name the channel, without the user's `keyPrefix` */
  follow(name: string, follower: Follower): void {
    const channel = this.current.keyPrefix + name;
    const known = this.followers.get(channel);
    this.followers.set(channel, (known ?? new Set()).add(follower));
    for (const subscriber of this.subscribers.values()) void subscriber.subscribe(channel);
    this.update();
  }

  unfollow(name: string, follower: Follower): void {
    const channel = this.current.keyPrefix + name;
    const known = this.followers.get(channel);
    known?.delete(follower);
    if (known?.size !== 0) return;
    this.followers.delete(channel);
    if (this.followers.size === 0) this.close();
    else for (const subscriber of this.subscribers.values()) subscriber.unsubscribe(channel);
  }

  /** Reports the turns of leases that a process waits for. Returns a function that ends the reports. */
  followGrants(prefix: string, instance: string, follower: GrantFollower): () => void {
    const grants: Follower = {
      changed: (name) => follower.came(name.slice(prefix.length)),
      trusted: (isTrusted) => follower.trusted(isTrusted),
    };
    const resets: Follower = {
      changed: (key, isReset) => (isReset ? follower.cleared(key) : undefined),
      trusted: () => undefined,
    };
    const channels = [
      [grantsOf(prefix, instance), grants],
      [changesOf(prefix), resets],
    ] as const;
    for (const [channel, each] of channels) this.follow(channel, each);
    return () => channels.forEach(([channel, each]) => this.unfollow(channel, each));
  }

  /** Whether every change of a counter is reported, because its server is subscribed to. */
  isFollowed(key: string): boolean {
    if (!this.isUsable) return false;
    const subscriber = this.subscribers.get(this.current.serverOf(key));
    return subscriber?.isSubscribed(this.channelOf(key)) ?? false;
  }

  /** Reports a change by this process immediately. */
  changed(key: string, isReset: boolean): void {
    this.report(this.channelOf(key), key, isReset);
  }

  /**
   * Tries whether every server publishes on the channels of a key prefix, and reports those that do not permit it.
   *
   * @param within how long to wait for the servers, in milliseconds
   */
  async tryToPublish(prefix: string, within: number): Promise<void> {
    if (!this.isUsable) {
      const cause = `keyPrefix ${shown(this.current.keyPrefix)} of ioredis contains a brace, so that no change can be reported`;
      this.refuse(new StoreFault('other', 'KEY_PREFIX', `${cause}; use the option \`prefix\` instead`));
      return;
    }
    const names = [changesOf(prefix), grantsOf(prefix, 'ready')];
    const probing = [...this.publishers].flatMap(([address, client]) =>
      names.map((name) =>
        publish(client, address, this.current.keyPrefix + name).catch(this.failed(address)),
      ),
    );
    await new Deadline(within).within(Promise.all(probing)).catch(() => undefined);
  }

  /** Ends the subscriptions for good: what still decides opens none. */
  end(): void {
    this.isEnded = true;
    this.close();
  }

  private close(): void {
    for (const subscriber of this.subscribers.values()) subscriber.close();
    this.subscribers.clear();
  }

  /** Returns the channel on which the Lua announces changes of a counter. */
  private channelOf(key: string): string {
    return this.current.keyPrefix + changesOf(key.slice(0, key.indexOf('{')));
  }

  /** Whether the Lua finds the channel: it takes the text before the first brace as the prefix. */
  private get isUsable(): boolean {
    return !this.current.keyPrefix.includes('{');
  }

  /**
   * The connections that run the Lua, whose rights decide whether changes are announced, by the address of their server;
   * `''` if there is only one. Each master of a Cluster announces its own changes.
   */
  private get publishers(): ReadonlyMap<string, StoreClient> {
    const { client } = this.current;
    if (!client.isCluster) return new Map([['', client]]);
    return new Map(client.nodes!('master').map((node) => [serverOf(node), node]));
  }

  private watch(client: StoreClient): void {
    this.update();
    if (!client.isCluster) {
      // A new connection may lead to another server, whose changes the old subscription does not report.
      client.on('ready', () => this.subscribers.get('')?.connectAnew());
      return;
    }
    for (const event of ['+node', '-node', 'refresh']) client.on(event, () => this.update());
  }

  /** Subscribes to every current server, and ends the subscriptions to others. */
  private update(): void {
    if (this.followers.size === 0 || this.isEnded) return;
    const servers = this.publishers;
    for (const [address, subscriber] of this.subscribers) {
      if (servers.has(address)) continue;
      subscriber.close();
      this.subscribers.delete(address);
      this.trust([...this.followers.keys()], false);
    }
    for (const [address, client] of servers) {
      if (!this.subscribers.has(address)) this.subscribers.set(address, this.subscriberOf(address, client));
    }
  }

  private subscriberOf(address: string, publisher: StoreClient): Subscriber {
    return new Subscriber(connect(publisher, this.bounds), this.followers, {
      tryToPublish: (channel) => publish(publisher, address, channel),
      message: (channel, text) => this.heard(address, channel, text),
      changed: (channels, hasBegun) => this.trust(channels, hasBegun),
      failed: this.failed(address),
    });
  }

  /** Returns the listener of errors of a server, which reports those of a missing right. */
  private failed(address: string): (error: unknown) => void {
    return (error) => {
      const fault = faultOf(error, address);
      if (isRefusal(fault)) this.refuse(fault);
    };
  }

  private refuse(fault: StoreFault): void {
    for (const listener of this.refused) listener(fault);
  }

  private heard(address: string, channel: string, message: string): void {
    if (message === PROBE) return;
    const isReset = message.startsWith(RESET);
    const key = message.slice((isReset ? RESET.length : 0) + this.current.keyPrefix.length);
    this.report(channel, key, isReset && this.isFirst(address, key));
  }

  /** Whether no other server has announced a reset: an echo must not discard permits that were prefetched after it. */
  private isFirst(address: string, key: string): boolean {
    const now = performance.now();
    const first = this.resets.get(key);
    if (first && first.address !== address && now < first.until) return false;
    if (this.resets.size === MOST_RESETS) this.resets.clear();
    this.resets.set(key, { address, until: now + ECHO_MS });
    return true;
  }

  /** Reports to followers whether messages arrive from now on, and whether those of a server begin to. */
  private trust(channels: readonly string[], hasBegun: boolean): void {
    const subscribers = [...this.subscribers.values()];
    for (const channel of channels) {
      const isTrusted = this.isUsable && subscribers.some((subscriber) => subscriber.isSubscribed(channel));
      for (const follower of this.followers.get(channel) ?? []) follower.trusted(isTrusted, hasBegun);
    }
  }

  private report(channel: string, key: string, isReset: boolean): void {
    for (const follower of this.followers.get(channel) ?? []) follower.changed(key, isReset);
  }
}

/** Returns the channel of the changes of all counters with a key prefix. */
export function changesOf(prefix: string): string {
  return `${prefix}changes`;
}

/** Returns the channel of the turns of leases that a process waits for. */
function grantsOf(prefix: string, instance: string): string {
  return `${prefix}grants:${instance}`;
}

/** Fails only if the server does not permit it: any other error also stops the calls that announce changes. */
async function publish(client: StoreClient, address: string, channel: string): Promise<void> {
  await client.publish(channel, PROBE).catch((error: unknown) => {
    if (isRefusal(faultOf(error, address))) throw error;
  });
}

function isRefusal({ code }: StoreFault): boolean {
  return NOT_PERMITTED.includes(code);
}
