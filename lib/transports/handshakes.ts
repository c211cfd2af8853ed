import type { IncomingMessage, Server } from 'node:http';
import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpRequest } from '../http/subject.js';
import { ofFastify } from '../nest/checks/client-address-check.js';

/** What a socket knows of the request with which it was opened. */
export interface Handshake {
  readonly headers: HttpRequest['headers'];
  readonly socket?: NonNullable<HttpRequest['socket']>;
  /** The address, if the application has determined it. */
  readonly ip?: string;
  /** Returns the user, which may be set after the handshake. */
  readonly user: () => unknown;
}

/**
 * The requests with which sockets were opened, as requests of the framework: `ip` is the address that Express or Fastify
 * determines with the proxies that it trusts.
 */
export class Handshakes {
  private readonly requests = new WeakMap<object, HttpRequest>();
  /** By the connection: a socket of `ws` does not have its request. */
  private readonly upgrades = new WeakMap<object, IncomingMessage>();

  constructor(private readonly host: HttpAdapterHost) {}

  /** A server without a listener for upgrades would not answer them any more if it had one. */
  start(): void {
    const server = this.host.httpAdapter?.getHttpServer() as Server | undefined;
    if (!server?.listenerCount?.('upgrade')) return;
    server.prependListener('upgrade', (request, socket) => void this.upgrades.set(socket, request));
  }

  /** Returns the headers with which a connection was opened; none if it was to a server of its own port. */
  headersOf(connection: object | undefined): HttpRequest['headers'] {
    return (connection && this.upgrades.get(connection)?.headers) ?? {};
  }

  /** Returns the request of a connected client; the same object for each of its messages. */
  request(client: object, handshake: Handshake): HttpRequest {
    const known = this.requests.get(client);
    if (known) return known;
    const { headers, socket, ip, user } = handshake;
    const values = {
      headers,
      ...(socket && { socket, connection: socket }),
      ...(ip !== undefined && { ip }),
    };
    const request = Object.create(socket ? this.prototype() : null, {
      ...Object.getOwnPropertyDescriptors({ ...values, raw: values }),
      user: { get: user, configurable: true },
    }) as HttpRequest;
    this.requests.set(client, request);
    return request;
  }

  /** The prototype of the framework's requests, whose `ip` honours the trusted proxies. */
  private prototype(): object | null {
    const { httpAdapter } = this.host;
    const instance = httpAdapter?.getInstance<object>();
    if (httpAdapter?.getType() === 'express') return (instance as { request?: object }).request ?? null;
    if (httpAdapter?.getType() !== 'fastify') return null;
    const type = ofFastify(instance, 'fastify.Request') as { prototype?: object } | undefined;
    return type?.prototype ?? null;
  }
}
