import type { StoreClient } from './connection.js';
import type { ReplyError } from './reply-error.js';

/** Commands without which a connection leads to another database, or is another user's. */
const NEEDED = ['select', 'auth', 'hello'];

/**
 * Ends a connection on which the server refused a command that it needs. ioredis reports that SELECT failed and
 * continues in database 0; ioredis 5.2 calls a connection ready whose AUTH has failed.
 */
export class Handshake {
  /** What the server answered; until the connection has ended. */
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
