import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { Header } from '../http/headers.js';
import { connectionSignal, type Connection } from '../http/response-end.js';
import type { HttpRequest } from '../http/subject.js';
import { Exchange, hungUp } from '../nest/request/exchange.js';
import type { Denial } from '../nest/request/responder.js';
import type { Handshake, Handshakes } from './handshakes.js';
import { CallContext } from './calls.js';

/** `WebSocket.OPEN`. */
const OPEN = 1;

/** Bytes that may wait to be sent to a client: more wait only for one that reads slower than it sends, or not at all. */
const MAX_UNSENT_BYTES = 1_000_000;

/** A socket of Socket.IO or `ws`; while a client of `ws` connects, its HTTP request. */
export interface SocketClient {
  /** Of an HTTP request only. */
  readonly headers?: HttpRequest['headers'];
  /** Of an HTTP request only. */
  readonly socket?: NonNullable<HttpRequest['socket']>;
  readonly handshake?: { readonly address?: string; readonly headers?: HttpRequest['headers'] };
  readonly conn?: {
    readonly remoteAddress?: string;
    readonly request?: HttpRequest;
    /** What waits for the transport. */
    readonly writeBuffer?: readonly { readonly data?: { readonly length: number } }[];
    readonly transport?: { readonly socket?: { readonly bufferedAmount?: number } };
  };
  readonly _socket?: NonNullable<HttpRequest['socket']>;
  readonly user?: unknown;
  readonly data?: { readonly user?: unknown };
  /** Of `ws` only. */
  readonly readyState?: unknown;
  /** Of `ws` only. */
  readonly bufferedAmount?: number;
  /** Of Socket.IO only. */
  readonly disconnected?: boolean;
  /** Of Socket.IO only: its transport, and the namespaces that share it. */
  readonly client?: {
    readonly nsps?: ReadonlyMap<string, unknown>;
    readonly conn?: { close?(discard?: boolean): void };
  };
  /** Of Socket.IO only: called when it leaves its namespace, and when a middleware denies it. */
  _cleanup?(): void;
  send?(data: string): void;
  emit?(event: string, data: unknown): void;
}

/** A message of a client that is connected to a gateway. The client is the one of the handshake. */
export class WsExchange extends Exchange {
  readonly transport = 'ws';

  constructor(
    readonly context: ExecutionContext,
    readonly request: HttpRequest,
    private readonly client: SocketClient,
  ) {
    super();
  }

  /** The headers of a denied connection. */
  override sendHeaders(decision: Decision, format: (decision: Decision) => readonly Header[]): void {
    if (this.isConnecting) connectingHeaders.set(this.client, format(decision));
  }

  private get isConnecting(): boolean {
    return this.context instanceof CallContext;
  }

  override gone(): AbortSignal | undefined {
    const { client } = this;
    if (this.isConnecting) return connectionEnd(client);
    if (!('once' in client)) return undefined;
    const connection = client as Connection;
    return typeof client.readyState === 'number'
      ? connectionSignal(connection, 'close', client.readyState > OPEN, hungUp)
      : connectionSignal(connection, 'disconnect', client.disconnected === true, hungUp);
  }
}

/** The headers of the decision on each client that connects. */
export const connectingHeaders = new WeakMap<object, readonly Header[]>();

/** Returns a signal that aborts when the connection of a client has ended, even if the client never joined. */
export function connectionEnd({ conn, socket }: SocketClient): AbortSignal | undefined {
  const connection = (conn ?? socket) as (Connection & Readonly<Record<string, unknown>>) | undefined;
  if (!connection) return undefined;
  const isClosed = connection['destroyed'] === true || connection['readyState'] === 'closed';
  return connectionSignal(connection, 'close', isClosed, hungUp);
}

export function wsExchange(context: ExecutionContext, handshakes: Handshakes): Exchange {
  const client = context.switchToWs().getClient<SocketClient>();
  return new WsExchange(context, handshakes.request(client, handshakeOf(client, handshakes)), client);
}

/** The address of Socket.IO's handshake counts only if the application has replaced the peer's. */
function handshakeOf(client: SocketClient, handshakes: Handshakes): Handshake {
  if (client.socket) {
    return { headers: client.headers, socket: client.socket, user: () => client.user };
  }
  const address = client.handshake?.address ?? client._socket?.remoteAddress;
  const peer = client.conn?.remoteAddress ?? address;
  const ended = client.conn?.request?.socket ?? client._socket; // Without an address; it tells whether the client has hung up.
  const socket = peer === undefined ? ended : { remoteAddress: peer };
  return {
    headers: client.handshake?.headers ?? handshakes.headersOf(client._socket),
    user: () => client.user ?? client.data?.user,
    ...(socket && { socket }),
    ...(address !== undefined && address !== peer && { ip: address }),
  };
}

/** Whether so much waits to be sent to a client that it gets no more denials, which would fill the memory. */
export function isBackedUp({ bufferedAmount, conn }: SocketClient): boolean {
  let unsent = bufferedAmount ?? conn?.transport?.socket?.bufferedAmount ?? 0;
  for (const { data } of conn?.writeBuffer ?? []) {
    if (unsent > MAX_UNSENT_BYTES) break;
    unsent += data?.length ?? 0;
  }
  return unsent > MAX_UNSENT_BYTES;
}

/**
 * Sends a denial to a client: the event `exception`, and the acknowledgement if it waits for one. A client that does not
 * read what it was sent gets none.
 */
export function denySocket(exception: Denial, host: ArgumentsHost): void {
  const client = host.switchToWs().getClient<SocketClient>();
  if (isBackedUp(client)) return;
  const body = exception.getResponse();
  if (typeof client.readyState === 'number') {
    // `emit` of a native socket calls listeners in this process, and sends nothing.
    if (client.readyState === OPEN) client.send?.(JSON.stringify({ event: 'exception', data: body }));
    return;
  }
  client.emit?.('exception', body);
  const acknowledge = host.getArgs<unknown[]>().findLast((each) => typeof each === 'function');
  (acknowledge as ((body: unknown) => void) | undefined)?.(body);
}
