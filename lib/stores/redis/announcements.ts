import type { Follower } from '../../contracts/store.js';
import type { StoreClient } from './connection.js';

/** A connection of its own, as one that subscribes can do nothing else. */
export interface SubscriberClient extends StoreClient {
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'ready' | 'close', listener: () => void): unknown;
}

const PING_EVERY_MS = 1000;

/** What stands in front of the key of a counter that is reset; no key begins with it. */
const RESET = ' ';

/** Tells followers of changes by other processes, and whether it can. */
export class Announcements {
  private readonly followers = new Map<string, Set<Follower>>();
  private client: SubscriberClient | undefined;
  private pinging: NodeJS.Timeout | undefined;

  /**
   * @param connect opens a connection for it; called when somebody wants to know
   * @param keyPrefix what the user's client puts in front of every key
   */
  constructor(
    private readonly connect: () => SubscriberClient,
    private readonly keyPrefix: string,
  ) {}

  follow(prefix: string, follower: Follower): void {
    const channel = this.channelOf(prefix);
    const known = this.followers.get(channel);
    this.followers.set(channel, (known ?? new Set()).add(follower));
    if (!this.client) this.open();
    else void this.subscribe(channel);
  }

  unfollow(prefix: string, follower: Follower): void {
    const channel = this.channelOf(prefix);
    const known = this.followers.get(channel);
    known?.delete(follower);
    if (known?.size !== 0) return;
    this.followers.delete(channel);
    if (this.followers.size === 0) this.close();
    else this.client?.unsubscribe(channel).catch(() => undefined);
  }

  /** Tells of a change by this process, at once. */
  changed(key: string, isReset: boolean): void {
    this.tell(this.channelOf(key.slice(0, key.indexOf('{'))), key, isReset);
  }

  close(): void {
    clearInterval(this.pinging);
    this.client?.disconnect();
    this.client = undefined;
  }

  /** Where the scripts tell which counters with a prefix have changed in a hit's favour. */
  private channelOf(prefix: string): string {
    return `${this.keyPrefix}${prefix}changes`;
  }

  private open(): void {
    const client = this.connect();
    this.client = client;
    client.on('error', () => undefined); // 'close' follows
    client.on('message', (channel, message) => {
      const isReset = message.startsWith(RESET);
      this.tell(channel, message.slice((isReset ? RESET.length : 0) + this.keyPrefix.length), isReset);
    });
    client.on('close', () => this.trust([...this.followers.keys()], false));
    client.on('ready', () => this.followers.forEach((_, channel) => void this.subscribe(channel)));
    // A connection that is cut without a word would leave everybody believing what is not so any more.
    this.pinging = setInterval(() => void this.ping(client), PING_EVERY_MS).unref();
  }

  private async subscribe(channel: string): Promise<void> {
    try {
      await this.client!.subscribe(channel);
      this.trust([channel], true);
    } catch {
      this.trust([channel], false);
    }
  }

  private async ping(client: SubscriberClient): Promise<void> {
    if (client.status !== 'ready') return;
    try {
      await client.ping();
    } catch {
      this.trust([...this.followers.keys()], false);
    }
  }

  private trust(channels: readonly string[], isTrusted: boolean): void {
    for (const channel of channels) {
      for (const follower of this.followers.get(channel) ?? []) follower.trusted(isTrusted);
    }
  }

  private tell(channel: string, key: string, isReset: boolean): void {
    for (const follower of this.followers.get(channel) ?? []) follower.changed(key, isReset);
  }
}
