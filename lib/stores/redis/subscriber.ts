import { every, type Timer } from '../../contracts/timer.js';
import type { StoreClient } from './connection.js';

/** A separate connection, since a subscribed connection cannot send other commands. */
export interface SubscriberClient extends StoreClient {
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown;
}

const PING_EVERY_MS = 1000;

/** Receives what a subscriber reports. */
export interface SubscriberListener {
  message(channel: string, message: string): void;
  /** Called when messages on these channels start or stop to arrive. */
  changed(channels: readonly string[]): void;
}

/** Subscribes to channels on one server, and tracks on which of them every message arrives. */
export class Subscriber {
  private readonly heard = new Set<string>();
  private readonly pinging: Timer;
  private isClosed = false;

  /** @param channels the channels to subscribe to after each connection */
  constructor(
    private readonly client: SubscriberClient,
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
    const isComplete = await this.client.subscribe(channel).then(
      () => !this.isClosed,
      () => false,
    );
    if (isComplete) this.heard.add(channel);
    else this.heard.delete(channel);
    this.listener.changed([channel]);
  }

  unsubscribe(channel: string): void {
    this.heard.delete(channel);
    this.client.unsubscribe(channel).catch(() => undefined);
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
    }
  }

  private lose(): void {
    if (this.isClosed) return;
    this.heard.clear();
    this.listener.changed([...this.channels.keys()]);
  }
}
