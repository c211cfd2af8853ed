import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { HttpException, Inject, Injectable, type Type } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { HttpAdapterHost } from '@nestjs/core';
import type { MaybePromise } from '../contracts/thenable.js';
import { afterResponse, rawOf, type UpgradeRequest } from '../http/response-end.js';
import { after } from '../contracts/timer.js';
import type { HttpRequest } from '../http/subject.js';
import { warnOfUnexposed } from './checks/before-routing-checks.js';
import { Warnings } from './warnings.js';
import { Admission } from './request/admission.js';
import { BeforeRouting, type EarlyRule } from './request/before-routing.js';
import { HttpExchange } from './request/exchange.js';
import { Responder } from './request/responder.js';

export type Next = (error?: unknown) => void;

/** A request of Express or Fastify. */
export interface EarlyRequest extends HttpRequest {
  readonly method: string;
  /** The path and the query as the client sent them. */
  readonly originalUrl: string;
}

/** Applies rules to requests before they are routed. */
@Injectable()
export class EarlyRequests {
  /** The class and the method in the context of a request. */
  handler!: readonly [type: Type, method: () => void];

  constructor(
    @Inject(BeforeRouting) private readonly before: BeforeRouting,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(Responder) private readonly responder: Responder,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  enter(name: string, rule: EarlyRule, request: EarlyRequest, response: object, next: Next): void {
    if (this.before.hasCharged(request, name) || isExcluded(rule, request)) {
      next();
      return;
    }
    if (request.headers?.['origin'] !== undefined) this.seeResponse(response);
    const exchange = new HttpExchange(new ExecutionContextHost([request, response, next], ...this.handler));
    const pass = (): void => {
      if (exchange.decision) this.before.charge(request, exchange.decision);
      next();
    };
    const deny = (error: unknown): void => {
      this.leaveUnread(request, response);
      // Mercurius reads the status here.
      next(error instanceof HttpException ? Object.assign(error, { statusCode: error.getStatus() }) : error);
    };
    let entered: MaybePromise<true>;
    try {
      entered = this.admission.enter(rule.route, exchange, this.responder.deny);
    } catch (error) {
      deny(error); // Functions of rules may throw.
      return;
    }
    if (entered instanceof Promise) entered.then(pass, deny);
    else pass();
  }

  /**
   * Prepares the response of a request whose body will not be read: Node.js would read all of it to use the connection
   * again. The connection is closed after the response instead; over HTTP/2, Node.js closes the stream.
   */
  private leaveUnread(request: EarlyRequest, response: object): void {
    const raw = rawOf(request) as IncomingMessage & UpgradeRequest;
    if (raw.upgrade) {
      const { socket } = raw;
      (rawOf(response) as ServerResponse).once('finish', () => socket.destroySoon()); // Node.js has left it to @fastify/websocket.
      return;
    }
    if (raw.complete || raw.httpVersionMajor > 1 || !hasBody(raw)) return;
    const { httpAdapter } = this.host;
    if (!httpAdapter.isHeadersSent(response)) httpAdapter.setHeader(response, 'Connection', 'close');
    raw.read(); // Node.js would read and drop the whole body of a request that nothing has read.
    closeLate(raw.socket);
  }

  private seeResponse(response: object): void {
    if (!this.warnings.isPending('RL_HEADERS_UNEXPOSED')) return;
    const raw = rawOf(response) as Parameters<typeof warnOfUnexposed>[0];
    afterResponse(response, () => warnOfUnexposed(raw, this.warnings));
  }
}

/** Whether a rule does not count a request: its whole path is excluded, exactly, or it is a preflight of CORS. */
function isExcluded({ exclude }: EarlyRule, request: EarlyRequest): boolean {
  const { originalUrl: url, method, headers } = request;
  const query = url.indexOf('?');
  if (exclude.size > 0 && exclude.has(query < 0 ? url : url.slice(0, query))) return true;
  if (method !== 'OPTIONS' || !headers?.['origin']) return false;
  return Boolean(headers['access-control-request-method']) && !hasBody(rawOf(request) as IncomingMessage);
}

/** How long a connection stays open for a client that reads its response late, in milliseconds. */
const LINGER_MS = 2000;

/** The maximum number of such connections: beyond it, a connection is closed after its response. */
const MOST_LINGERING = 1000;

let lingering = 0;

/** A request of HTTP/1 or HTTP/2. */
type Incoming = IncomingMessage & { readonly stream?: ServerHttp2Stream };

/** Whether a request has a body, arrived or not. */
function hasBody({ headers, stream }: Incoming): boolean {
  if (stream) return !stream.endAfterHeaders;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
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
