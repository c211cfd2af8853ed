import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxyConnection } from './proxy-connection.js';

/** Starts a way to a server, on 127.0.0.1, on which a test can disturb what passes. */
export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return new Proxy(listener, target);
}

/** A way to a server. Close it in `afterAll`. */
export class Proxy {
  readonly host: string;
  readonly port: number;
  /** How many connections there have been. */
  accepted = 0;
  private readonly open = new Set<ProxyConnection>();
  private treat: (connection: ProxyConnection) => void = () => undefined;

  constructor(
    private readonly listener: Server,
    target: { host: string; port: number },
  ) {
    ({ address: this.host, port: this.port } = listener.address() as AddressInfo);
    listener.on('connection', (client) => this.accept(client, connect(target)));
  }

  /** Without a password, if the server asks for one. */
  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** The connections that are open, the oldest first. */
  get connections(): readonly ProxyConnection[] {
    return [...this.open];
  }

  /**
   * Does something to every connection that is open, and to each that is opened, until told otherwise.
   *
   * @example proxy.each((connection) => connection.stall()); // Accepts, and never answers.
   */
  each(treat: (connection: ProxyConnection) => void): void {
    this.treat = treat;
    this.open.forEach(treat);
  }

  /** Ends all connections, and takes no more. */
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
