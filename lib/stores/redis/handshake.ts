import type { StoreClient } from './connection.js';
import type { ReplyError } from './reply-error.js';

/** Commands without which a connection would use another database or another user. */
const NEEDED = ['select', 'auth', 'hello'];

/**
 * Ends a connection if the server rejects one of these commands: after a failed SELECT, ioredis continues in database 0,
 * and ioredis 5.2 reports a connection as ready after a failed AUTH.
 */
export class Handshake {
  /** The error reply of the server, until the connection has ended. */
  refusal: Error | undefined;

  constructor(client: StoreClient) {
    client.on('error', (error) => {
      const { command } = error as ReplyError;
      if (!command || !NEEDED.includes(command.name)) return;
      this.refusal = error;
      client.disconnect(true);
    });
    client.on('close', () => (this.refusal = undefined));
  }
}
