import { request } from 'node:http';

/** Address of the application. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/**
 * A client with an address of its own on the loopback network, so that rules count it apart from other clients. Systems
 * that have only 127.0.0.1 send its requests from there.
 */
export class Client {
  private from: string | undefined;

  constructor(
    private readonly target: Target,
    address: string,
    private readonly user?: string,
  ) {
    this.from = address;
  }

  /** Sends a request. Its outcome is shown by the operations page, not here. */
  async send(method: string, path: string, body?: object): Promise<void> {
    try {
      await this.attempt(method, path, body);
    } catch (error) {
      if (this.from === undefined || (error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') return;
      this.from = undefined;
      await this.send(method, path, body);
    }
  }

  private attempt(method: string, path: string, body?: object): Promise<void> {
    const headers = {
      'content-type': 'application/json',
      ...(this.user !== undefined && { authorization: `Bearer ${this.user}` }),
    };
    const from = this.from === undefined ? {} : { localAddress: this.from };
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.target, ...from, method, path, headers, timeout: 5000 }, (response) =>
        response.resume().on('end', resolve).on('error', reject),
      );
      sent.on('timeout', () => sent.destroy()).on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }
}
