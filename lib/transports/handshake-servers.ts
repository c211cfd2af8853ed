import { after } from '../contracts/timer.js';
import type { SocketClient } from './ws.js';

/** Why a client may not connect. */
export interface Denied {
  readonly status: number;
  readonly message: string;
  readonly body: string | object;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns why a client may not connect; `undefined` if it may. Never rejects. */
export type CheckClient = (client: SocketClient) => Promise<Denied | undefined>;

/** A server or a namespace of Socket.IO. */
interface SocketIoServer {
  use(middleware: (socket: SocketClient & Transported, next: (error?: Error) => void) => void): unknown;
}

/** A socket of Socket.IO: its transport, and the namespaces that share it. */
interface Transported {
  readonly client?: {
    readonly nsps?: ReadonlyMap<string, unknown>;
    readonly conn?: { close?(): void };
  };
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
 * @returns whether the server has a handshake that can be denied
 */
export function attach(server: unknown, check: CheckClient): boolean {
  if (isSocketIo(server)) attachSocketIo(server, check);
  else if (isWs(server)) attachWs(server, check);
  else return false;
  return true;
}

/** A denied client gets the event `connect_error` with the details in `data`. */
function attachSocketIo(server: SocketIoServer, check: CheckClient): void {
  server.use((socket, next) => {
    void check(socket).then((denied) => {
      next(denied && Object.assign(new Error(denied.message), { data: denied.body }));
      if (denied) after(CLOSES_WITHIN_MS, () => closeUnused(socket));
    });
  });
}

function closeUnused({ client }: Transported): void {
  if (client?.nsps?.size === 0) client.conn?.close?.();
}

/** A denied client gets a response instead of the upgrade. */
function attachWs({ options }: WsServer, check: CheckClient): void {
  const { verifyClient: other } = options;
  options.verifyClient = (upgrade, verified) => {
    void check(upgrade.req).then((denied) => {
      if (denied) {
        const { status, body, headers } = denied;
        verified(false, status, typeof body === 'string' ? body : JSON.stringify(body), headers);
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
