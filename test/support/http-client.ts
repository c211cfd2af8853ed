import { request } from 'node:http';

export interface Question {
  readonly method?: string;
  /** Sent unchanged, without decoding, encoding or normalization. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A complete HTTP response. */
export interface Answer {
  readonly status: number;
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a request over a separate connection and reads the whole response.
 *
 * @param to a port of 127.0.0.1, or the path of a Unix socket
 */
export function send(
  to: number | string,
  { method = 'GET', path, headers = {}, body: given }: Question,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const server = typeof to === 'string' ? { socketPath: to } : { host: '127.0.0.1', port: to };
    const options = { ...server, method, path, headers, agent: false as const };
    const sent = request(options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
          ),
          body,
        }),
      );
    });
    sent.on('error', reject);
    sent.end(given);
  });
}

/** Returns the response's headers about limits, by lowercase name. */
export function limitHeaders({ headers }: Answer): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'retry-after' || name.includes('ratelimit')),
  );
}
