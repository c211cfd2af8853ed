import type { StoreClient } from './connection.js';
import type { Way } from './connection-fault.js';
import { hasFoundNoConnection } from './done-nothing.js';
import { Handshake } from './handshake.js';

/** Knows whether a client is connected and, which a command that finds no connection cannot state, why not. */
export class ConnectionState implements Way {
  readonly isTls: boolean;
  hasStood = false;
  private readonly handshake: Handshake;
  /** Why the last connection ended, or could not be made. */
  private error: Error | undefined;
  /** Whether that is known of the connection that ends next. */
  private isExplained = false;

  constructor(private readonly client: StoreClient) {
    const { tls, redisOptions } = client.options ?? {};
    this.isTls = Boolean(tls ?? redisOptions?.tls);
    this.handshake = new Handshake(client);
    client.on('error', (error) => {
      // ioredis 5 also reports commands of its own.
      if (!hasFoundNoConnection(error)) this.gaveUp(this.refusal ?? error);
    });
    client.on('connect', () => (this.isExplained = false));
    client.on('ready', () => {
      this.error = this.refusal;
      this.hasStood ||= !this.refusal;
    });
    client.on('close', () => {
      if (!this.isExplained) this.error = new Error(client.isCluster ? NO_NODE : 'Connection is closed.');
      this.isExplained = false;
    });
  }

  get isReady(): boolean {
    return this.client.status === 'ready' && !this.refusal;
  }

  /** What the server refused the connection by; until that has ended. */
  get refusal(): Error | undefined {
    return this.handshake.refusal;
  }

  /** States why the connection is about to end. */
  gaveUp(error: Error): void {
    this.error = error;
    this.isExplained = true;
  }

  /** Why a call failed: for as long as there is no connection, why there is none. */
  reasonOf(error: unknown): unknown {
    return this.isReady ? error : (this.error ?? timedOut());
  }
}

const NO_NODE = 'None of startup nodes is available';

function timedOut(): Error {
  return Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
}
