import { once } from 'node:events';
import { connect } from 'node:net';

/** A client with a separate connection, which it can close at any time. */
export interface RawClient {
  /** Everything that the server has sent so far. */
  readonly received: () => string;
  /** Closes the connection. */
  hangUp(): void;
}

/** Sends pipelined GET requests to a local port, without waiting for responses. */
export async function askAndWait(port: number, ...paths: string[]): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined); // The server may reset a connection that the client has closed.
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  return { received: () => received, hangUp: () => socket.destroy() };
}
