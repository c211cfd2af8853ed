import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { HttpAdapterHost } from '@nestjs/core';
import type { MaybePromise } from '../contracts/thenable.js';
import { afterResponse, rawOf } from '../http/response-end.js';
import { after } from '../contracts/timer.js';
import type { HttpRequest } from '../http/subject.js';
import { warnOfUnexposed } from './checks/before-routing-checks.js';
import type { Warnings } from './warnings.js';
import type { Admission } from './request/admission.js';
import type { BeforeRouting, EarlyRule } from './request/before-routing.js';
import { HttpExchange } from './request/exchange.js';
import type { Responder } from './request/responder.js';

export type Next = (error?: unknown) => void;

/** A request of Express or Fastify. */
export interface EarlyRequest extends HttpRequest {
  readonly method: string;
  /** The path and the query as the client sent them. */
  readonly originalUrl: string;
}

/** Applies rules to requests before they are routed. */
export class EarlyRequests {
  constructor(
    private readonly before: BeforeRouting,
    private readonly admission: Admission,
    private readonly responder: Responder,
    private readonly warnings: Warnings,
    private readonly host: HttpAdapterHost,
    /** The class and the method in the context of a request. */
    private readonly handler: readonly [type: new (...args: never[]) => object, method: () => void],
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
      next(error);
    };
    const entered = this.admit(rule, exchange, deny);
    if (entered instanceof Promise) entered.then(pass, deny);
    else if (entered) pass();
  }

  /** Functions of rules may throw. */
  private admit(rule: EarlyRule, exchange: HttpExchange, deny: Next): MaybePromise<boolean> {
    try {
      return this.admission.enter(rule.route, exchange, this.responder.denyExchange);
    } catch (error) {
      deny(error);
      return false;
    }
  }

  private leaveUnread(request: EarlyRequest, response: object): void {
    const { httpAdapter } = this.host;
    leaveUnread(rawOf(request) as IncomingMessage, (name, value) => {
      httpAdapter.setHeader(response, name, value);
    });
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

/**
 * Prepares the response of a request whose body will not be read: Node.js would read all of it to use the connection again.
 * The connection is closed after the response instead; over HTTP/2, Node.js closes the stream.
 *
 * @param setHeader sets a header of the response
 */
function leaveUnread(request: IncomingMessage, setHeader: (name: string, value: string) => void): void {
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
