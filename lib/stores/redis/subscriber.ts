import type { StoreClient } from './connection.js';

/** A connection of its own, as one that subscribes can do nothing else. */
export interface SubscriberClient extends StoreClient {
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown;
}

const PING_EVERY_MS = 1000;

/** What a subscriber reports. */
export interface SubscriberListener {
  message(channel: string, message: string): void;
  /** Messages on these channels arrive from now on, or do not any more. */
  changed(channels: readonly string[]): void;
}

/** Listens to channels on one server, and knows on which of them every message arrives. */
export class Subscriber {
  private readonly heard = new Set<string>();
  private readonly pinging: NodeJS.Timeout;
  private isClosed = false;

  /** @param channels which to listen to, whenever it is connected */
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
    // A connection that is cut without a word would leave everybody believing what is not so any more.
    this.pinging = setInterval(() => void this.ping(), PING_EVERY_MS).unref();
  }

  hears(channel: string): boolean {
    return this.heard.has(channel);
  }

  async subscribe(channel: string): Promise<void> {
    const isHeard = await this.client.subscribe(channel).then(
      () => !this.isClosed,
      () => false,
    );
    if (isHeard) this.heard.add(channel);
    else this.heard.delete(channel);
    this.listener.changed([channel]);
  }

  unsubscribe(channel: string): void {
    this.heard.delete(channel);
    this.client.unsubscribe(channel).catch(() => undefined);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.pinging);
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
