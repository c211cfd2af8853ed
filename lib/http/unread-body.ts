import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerHttp2Stream } from 'node:http2';
import { after } from '../contracts/timer.js';

/** How long a connection stays open for a client that reads its response late, in milliseconds. */
const LINGER_MS = 2000;

/** The maximum number of such connections: beyond it, a connection is closed after its response. */
const MOST_LINGERING = 1000;

let lingering = 0;

/** A request of HTTP/1 or HTTP/2. */
type Incoming = IncomingMessage & { readonly stream?: ServerHttp2Stream };

/** Whether a request has a body, arrived or not. */
export function hasBody({ headers, stream }: Incoming): boolean {
  if (stream) return !stream.endAfterHeaders;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Prepares the response of a request whose body will not be read: Node.js would read all of it to use the connection again.
 * The connection is closed after the response instead; over HTTP/2, Node.js closes the stream.
 *
 * @param setHeader sets a header of the response
 */
export function leaveUnread(
  request: IncomingMessage,
  setHeader: (name: string, value: string) => void,
): void {
  if (request.complete || request.httpVersionMajor > 1 || !hasBody(request)) return;
  setHeader('Connection', 'close');
  request.read(); // Node.js would read and drop the whole body of a request that nothing has read.
  closeLate(request.socket);
}

/** Half-closes a connection first: the system would drop a response that its client has not read yet. */
function closeLate(socket: Socket): void {
  if (lingering >= MOST_LINGERING) return;
  socket.destroySoon = () => {
    lingering += 1;
    const timer = after(LINGER_MS, () => socket.destroy());
    socket.once('close', () => {
      lingering -= 1;
      timer.stop();
    });
    socket.end();
  };
}
