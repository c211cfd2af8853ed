import type { StoreClient } from './connection.js';
import type { ClientState } from './connection-fault.js';
import { lacksConnection } from './not-executed.js';
import type { ReplyError } from './reply-error.js';

/** Tracks whether a client is connected, and why not: a command without a connection does not report the reason. */
export class ConnectionState implements ClientState {
  readonly isTls: boolean;
  wasConnected: boolean;
  /** The error with which the server rejected the connection, until the connection has ended. */
  refusal: Error | undefined;
  /** Why the last connection ended, or could not be established. */
  private error: Error | undefined;
  /** Whether `error` already explains the next end of a connection. */
  private isExplained = false;

  constructor(private readonly client: StoreClient) {
    const { tls, redisOptions } = client.options ?? {};
    this.isTls = Boolean(tls ?? redisOptions?.tls);
    endIfRefused(client, (refusal) => (this.refusal = refusal));
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

/** Commands without which a connection would use another database or another user. */
const NEEDED = ['select', 'auth', 'hello'];

/**
 * Ends a connection if the server rejects one of these commands: after a failed SELECT, ioredis continues in database 0,
 * and ioredis 5.2 reports a connection as ready after a failed AUTH.
 *
 * @param changed called with the error reply of the server, and without one when the connection has ended
 */
function endIfRefused(client: StoreClient, changed: (refusal?: Error) => void): void {
  client.on('error', (error) => {
    const { command } = error as ReplyError;
    if (!command || !NEEDED.includes(command.name)) return;
    changed(error);
    client.disconnect(true);
  });
  client.on('close', () => changed());
}

const NO_NODE = 'None of startup nodes is available';

function timedOut(): Error {
  return Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
}
