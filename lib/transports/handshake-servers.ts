import type { HttpException } from '@nestjs/common';
import { after } from '../contracts/timer.js';
import { isBackedUp, type SocketClient } from './ws.js';

/** Why a client may not connect. */
export interface Denied {
  /** Its body can be sent. */
  readonly exception: HttpException;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns why a client may not connect; `undefined` if it may. Never rejects. */
export type CheckClient = (client: SocketClient) => Promise<Denied | undefined>;

/** The options of a server of Socket.IO. */
interface SocketIoOptions {
  readonly connectionStateRecovery?: { readonly skipMiddlewares?: boolean };
}

/** A server of Socket.IO, or a namespace of one. */
interface SocketIoServer {
  readonly opts?: SocketIoOptions;
  readonly server?: { readonly opts?: SocketIoOptions };
  use(middleware: (socket: SocketClient, next: (error?: Error) => void) => void): unknown;
}

/**
 * Milliseconds that a denied client of Socket.IO has to close its transport, unless it uses it for another namespace.
 * Socket.IO alone would keep it for 45 s.
 */
const CLOSES_WITHIN_MS = 1000;

interface Upgrade {
  readonly req: SocketClient;
}

type Verified = (
  isAllowed: boolean,
  status?: number,
  message?: string,
  headers?: Readonly<Record<string, string>>,
) => void;

/** A server of `ws`. */
interface WsServer {
  readonly options: { verifyClient?: ((upgrade: Upgrade, verified: Verified) => unknown) | null };
}

/**
 * Checks each client that connects to a server, before the checks of the application.
 *
 * @returns why some clients or all of them cannot be denied in their handshake; `undefined` if all can
 */
export function attach(server: unknown, check: CheckClient): string | undefined {
  if (isSocketIo(server)) {
    attachSocketIo(server, check);
    const { connectionStateRecovery } = server.opts ?? server.server?.opts ?? {};
    return connectionStateRecovery?.skipMiddlewares === true ? SKIPS_RECOVERED : undefined;
  }
  if (!isWs(server)) return NO_HANDSHAKE;
  attachWs(server, check);
  return undefined;
}

const NO_HANDSHAKE =
  'its adapter has no handshake that can be denied; allowed: an IoAdapter (Socket.IO) or a WsAdapter (ws)';

/** Recovered sockets join without the middleware of a server: the default of `connectionStateRecovery`. */
const SKIPS_RECOVERED =
  'connectionStateRecovery skips the handshake of recovered sockets; set connectionStateRecovery: { skipMiddlewares: false }';

/** A denied client gets the event `connect_error` with the details in `data`. */
function attachSocketIo(server: SocketIoServer, check: CheckClient): void {
  server.use((socket, next) => {
    void check(socket).then((denied) => {
      const error = denied?.exception;
      next(error && Object.assign(new Error(error.message), { data: error.getResponse() }));
      if (denied) closeDenied(socket);
    });
  });
}

/** Closes the transport of a denied client if it stays unused, or at once if the client does not read its denials. */
function closeDenied(socket: SocketClient): void {
  const { client } = socket;
  if (isBackedUp(socket))
    client?.conn?.close?.(true); // Without waiting for what the client does not read.
  else
    after(CLOSES_WITHIN_MS, () => {
      if (client?.nsps?.size === 0) client.conn?.close?.();
    });
}

/** A denied client gets a response instead of the upgrade. */
function attachWs({ options }: WsServer, check: CheckClient): void {
  const { verifyClient: other } = options;
  options.verifyClient = (upgrade, verified) => {
    void check(upgrade.req).then((denied) => {
      if (denied) {
        const body = denied.exception.getResponse();
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        verified(false, denied.exception.getStatus(), text, denied.headers);
      } else if (!other) verified(true);
      else if (other.length >= 2) other(upgrade, verified);
      else verified(other(upgrade, verified) === true);
    });
  };
}

function isSocketIo(server: unknown): server is SocketIoServer {
  return typeof (server as Partial<SocketIoServer> | null)?.use === 'function';
}

function isWs(server: unknown): server is WsServer {
  const { options, handleUpgrade } = (server ?? {}) as { options?: unknown; handleUpgrade?: unknown };
  return typeof options === 'object' && options !== null && typeof handleUpgrade === 'function';
}
