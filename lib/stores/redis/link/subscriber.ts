import { every, type Timer } from '../../../contracts/timer.js';
import type { StoreClient } from './connection.js';

const PING_EVERY_MS = 1000;

/** What a subscriber needs of its server, and what it reports. */
export interface SubscriberListener {
  /** Fails if the server would not publish changes on a channel. */
  tryToPublish(channel: string): Promise<unknown>;
  message(channel: string, message: string): void;
  /** Called when messages on these channels begin or stop to arrive. */
  changed(channels: readonly string[], hasBegun: boolean): void;
  /** Receives the error if the user may not subscribe to a channel, or may not publish on it. */
  failed(error: unknown): void;
}

/** Subscribes to channels on one server, and tracks on which of them every message arrives. */
export class Subscriber {
  private readonly heard = new Set<string>();
  private readonly failed = new Set<string>();
  private readonly pinging: Timer;
  private isClosed = false;
  /** How often the connection was lost. */
  private losses = 0;

  /**
   * @param client a separate connection, since a subscribed connection cannot send other commands
   * @param channels the channels to subscribe to after each connection
   */
  constructor(
    private readonly client: StoreClient,
    private readonly channels: { keys(): Iterable<string> },
    private readonly listener: SubscriberListener,
  ) {
    client.on('error', () => undefined); // 'close' follows
    client.on('message', (channel, message) => listener.message(channel, message));
    client.on('close', () => this.lose());
    client.on('ready', () => {
      for (const channel of this.channels.keys()) void this.subscribe(channel);
    });
    // Pings detect a connection that is cut unnoticed, which would leave stale results in caches.
    this.pinging = every(PING_EVERY_MS, () => void this.ping());
  }

  isSubscribed(channel: string): boolean {
    return this.heard.has(channel);
  }

  async subscribe(channel: string): Promise<void> {
    this.failed.delete(channel);
    const { losses } = this;
    let hasBegun = false;
    try {
      await Promise.all([this.client.subscribe(channel), this.listener.tryToPublish(channel)]);
      if (this.isClosed || losses !== this.losses) return;
      hasBegun = !this.heard.has(channel);
      this.heard.add(channel);
    } catch (error) {
      this.heard.delete(channel);
      if (this.isClosed) return;
      this.failed.add(channel);
      this.listener.failed(error);
    }
    this.listener.changed([channel], hasBegun);
  }

  unsubscribe(channel: string): void {
    this.heard.delete(channel);
    this.failed.delete(channel);
    this.client.unsubscribe(channel).catch(() => undefined);
  }

  /** Replaces the connection; one that is not ready yet is new anyway. */
  connectAnew(): void {
    if (this.client.status === 'ready') this.client.disconnect(true);
  }

  close(): void {
    this.isClosed = true;
    this.pinging.stop();
    this.heard.clear();
    this.client.disconnect();
  }

  private async ping(): Promise<void> {
    if (this.client.status !== 'ready') return;
    try {
      await this.client.ping();
    } catch {
      this.lose();
      return;
    }
    // A right may have been granted.
    for (const channel of this.failed) void this.subscribe(channel);
  }

  private lose(): void {
    if (this.isClosed) return;
    this.losses += 1;
    this.heard.clear();
    this.listener.changed([...this.channels.keys()], false);
  }
}
