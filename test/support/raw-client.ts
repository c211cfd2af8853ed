import { once } from 'node:events';
import { connect } from 'node:net';

/** A client on a connection of its own, which it may drop whenever it likes. */
export interface RawClient {
  /** All that the server has sent so far. */
  readonly received: () => string;
  /** Drops the connection. */
  hangUp(): void;
}

/** Sends GET requests to a local port one behind the other, without waiting for an answer to any. */
export async function askAndWait(port: number, ...paths: string[]): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined); // A server may well mind that we hang up.
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  return { received: () => received, hangUp: () => socket.destroy() };
}
