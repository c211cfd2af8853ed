import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxyConnection } from './proxy-connection.js';

/** Starts a proxy to a server on 127.0.0.1 that a test can disturb. */
export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return new Proxy(listener, target);
}

/** A proxy to a server. Close it in `afterAll`. */
export class Proxy {
  readonly host: string;
  readonly port: number;
  /** Number of connections so far. */
  accepted = 0;
  private readonly open = new Set<ProxyConnection>();
  private treat: (connection: ProxyConnection) => void = () => undefined;

  constructor(
    private readonly listener: Server,
    /** Where new connections lead. */
    public target: { host: string; port: number },
  ) {
    ({ address: this.host, port: this.port } = listener.address() as AddressInfo);
    listener.on('connection', (client) => this.accept(client, connect(this.target)));
  }

  /** Without the password of the server. */
  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** The open connections, the oldest first. */
  get connections(): readonly ProxyConnection[] {
    return [...this.open];
  }

  /**
   * Applies an action to every open connection, and to each new one, until the returned function is called.
   *
   * @example
   * proxy.each((connection) => connection.stall()); // Accepts connections, and never replies.
   */
  each(treat: (connection: ProxyConnection) => void): void {
    this.treat = treat;
    this.open.forEach(treat);
  }

  /** Closes all connections, and accepts no new ones. */
  async close(): Promise<void> {
    const closed = once(this.listener, 'close');
    this.listener.close();
    for (const connection of this.open) connection.reset();
    await closed;
  }

  private accept(client: Socket, server: Socket): void {
    const connection = new ProxyConnection(client, server);
    this.accepted++;
    this.open.add(connection);
    client.once('close', () => this.open.delete(connection));
    this.treat(connection);
  }
}
