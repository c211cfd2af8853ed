import type { StoreClient } from './connection.js';
import type { ClientState } from './connection-fault.js';
import { lacksConnection } from './not-executed.js';
import { Handshake } from './handshake.js';

/** Tracks whether a client is connected, and why not: a command without a connection does not report the reason. */
export class ConnectionState implements ClientState {
  readonly isTls: boolean;
  wasConnected: boolean;
  private readonly handshake: Handshake;
  /** Why the last connection ended, or could not be established. */
  private error: Error | undefined;
  /** Whether `error` already explains the next end of a connection. */
  private isExplained = false;

  constructor(private readonly client: StoreClient) {
    const { tls, redisOptions } = client.options ?? {};
    this.isTls = Boolean(tls ?? redisOptions?.tls);
    this.handshake = new Handshake(client);
    this.wasConnected = this.isReady; // A Cluster that a URL led to is connected already.
    client.on('error', (error) => {
      // ioredis 5 also reports errors of its own commands.
      if (!lacksConnection(error)) this.gaveUp(this.refusal ?? error);
    });
    client.on('connect', () => (this.isExplained = false));
    client.on('ready', () => {
      this.error = this.refusal;
      this.wasConnected ||= !this.refusal;
    });
    client.on('close', () => {
      if (!this.isExplained) this.error = new Error(client.isCluster ? NO_NODE : 'Connection is closed.');
      this.isExplained = false;
    });
  }

  get isReady(): boolean {
    return this.client.status === 'ready' && !this.refusal;
  }

  /** The error with which the server rejected the connection, until the connection has ended. */
  get refusal(): Error | undefined {
    return this.handshake.refusal;
  }

  /** Records why the connection is about to end. */
  gaveUp(error: Error): void {
    this.error = error;
    this.isExplained = true;
  }

  /** Returns why a call failed: without a connection, why there is none. */
  reasonOf(error: unknown): unknown {
    return this.isReady ? error : (this.error ?? timedOut());
  }
}

const NO_NODE = 'None of startup nodes is available';

function timedOut(): Error {
  return Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
}
