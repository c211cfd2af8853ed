import { LRUCache } from 'lru-cache';
import type { Follower } from '../../contracts/store.js';
import type { Announcers } from './announcers.js';
import type { Servers } from './servers.js';
import { Subscriber } from './subscriber.js';

/** What stands in front of the key of a counter that is reset; no key begins with it. */
const RESET = ' ';

/** A message of one master of a cluster reaches us from the others as well, within this time. */
const ECHO_MS = 1000;

/** Tells followers of changes by other processes, and whether it can. */
export class Announcements {
  private readonly followers = new Map<string, Set<Follower>>();
  private readonly subscribers = new Map<string, Subscriber>();
  /** By which server each reset was announced first. */
  private readonly resets = new LRUCache<string, string>({ max: 1000, ttl: ECHO_MS });
  private isWatching = false;

  /** @param keyPrefix what the user's client puts in front of every key */
  constructor(
    private readonly announcers: Announcers,
    private readonly site: { readonly servers: Pick<Servers, 'of'> },
    private readonly keyPrefix: string,
  ) {}

  follow(prefix: string, follower: Follower): void {
    const channel = this.channelOf(prefix);
    const known = this.followers.get(channel);
    this.followers.set(channel, (known ?? new Set()).add(follower));
    for (const subscriber of this.subscribers.values()) void subscriber.subscribe(channel);
    if (this.isWatching) this.update();
    else this.announcers.watch(() => this.update());
    this.isWatching = true;
  }

  unfollow(prefix: string, follower: Follower): void {
    const channel = this.channelOf(prefix);
    const known = this.followers.get(channel);
    known?.delete(follower);
    if (known?.size !== 0) return;
    this.followers.delete(channel);
    if (this.followers.size === 0) this.close();
    else for (const subscriber of this.subscribers.values()) subscriber.unsubscribe(channel);
  }

  /** Whether every change of a counter is told: its server is listened to. */
  hears(key: string): boolean {
    if (this.keyPrefix.includes('{')) return false; // the scripts take what stands before a brace for the prefix
    const subscriber = this.subscribers.get(this.site.servers.of(key));
    return subscriber?.hears(this.channelOf(prefixOf(key))) ?? false;
  }

  /** Tells of a change by this process, at once. */
  changed(key: string, isReset: boolean): void {
    this.tell(this.channelOf(prefixOf(key)), key, isReset);
  }

  close(): void {
    for (const subscriber of this.subscribers.values()) subscriber.close();
    this.subscribers.clear();
  }

  /** Where the scripts tell which counters with a prefix have changed in a hit's favour. */
  private channelOf(prefix: string): string {
    return `${this.keyPrefix}${prefix}changes`;
  }

  /** Listens to every server that there is now, and to no other. */
  private update(): void {
    if (this.followers.size === 0) return;
    const servers = this.announcers.all();
    for (const [address, subscriber] of this.subscribers) {
      if (servers.has(address)) continue;
      subscriber.close();
      this.subscribers.delete(address);
      this.trust([...this.followers.keys()]);
    }
    for (const [address, open] of servers) {
      if (this.subscribers.has(address)) continue;
      const message = (channel: string, text: string): void => this.heard(address, channel, text);
      const changed = (channels: readonly string[]): void => this.trust(channels);
      this.subscribers.set(address, new Subscriber(open(), this.followers, { message, changed }));
    }
  }

  private heard(address: string, channel: string, message: string): void {
    const isReset = message.startsWith(RESET);
    const key = message.slice((isReset ? RESET.length : 0) + this.keyPrefix.length);
    // Permits may have been taken ahead again since, which an echo must not take for those that are gone.
    const isFirst = isReset && (this.resets.get(key) ?? address) === address;
    if (isFirst) this.resets.set(key, address);
    this.tell(channel, key, isFirst);
  }

  /** What was known may have changed unnoticed, or may do so from now on. */
  private trust(channels: readonly string[]): void {
    const subscribers = [...this.subscribers.values()];
    for (const channel of channels) {
      const isTrusted = subscribers.some((subscriber) => subscriber.hears(channel));
      for (const follower of this.followers.get(channel) ?? []) follower.trusted(isTrusted);
    }
  }

  private tell(channel: string, key: string, isReset: boolean): void {
    for (const follower of this.followers.get(channel) ?? []) follower.changed(key, isReset);
  }
}

function prefixOf(key: string): string {
  return key.slice(0, key.indexOf('{'));
}
