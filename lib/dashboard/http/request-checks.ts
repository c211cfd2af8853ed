import { ForbiddenException, PayloadTooLargeException } from '@nestjs/common';
import { isIP } from 'node:net';
import { allowListOf } from '../../http/client-ip.js';
import { hasHungUp, userSubject, type HttpRequest } from '../../http/subject.js';

/** A request of Express or Fastify. */
export interface DashboardRequest extends HttpRequest {
  readonly headers: NonNullable<HttpRequest['headers']>;
  /** The host as the framework determines it with the proxies that it trusts. */
  readonly host?: string | undefined;
  readonly url: string;
  /** Of Express: `url` without the paths of routers removed. */
  readonly originalUrl?: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Of Fastify: the request of Node.js. */
  readonly raw?: Pick<HttpRequest, 'socket'>;
}

/** The header of requests that change something. A page of another origin cannot send it without CORS. */
const DASHBOARD_HEADER = 'x-rate-limit-dashboard';

/** Whether an address is one of this machine. */
const isLoopback = allowListOf(['127.0.0.0/8', '::1']);

/** Maximum length of the body of a request. */
const LONGEST_BODY = 16_384;

/**
 * Rejects requests to another host name than `localhost`: a page of any site can send them to this process by binding
 * its own name to the address of this process (DNS rebinding). With guards, the guards decide.
 *
 * @throws ForbiddenException
 */
export function checkHost(request: DashboardRequest): void {
  const name = String(sentHost(request) ?? '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || isIP(name) > 0) return;
  throw new ForbiddenException(
    'The operations page has no guards, so it is only at localhost or an IP address. Set `guards` to use another host.',
  );
}

/**
 * Rejects requests of other machines: without guards, everyone who knows the address of this process could change limits.
 *
 * @throws ForbiddenException
 */
export function checkPeer({ raw, socket = raw?.socket }: DashboardRequest): void {
  const address = socket?.remoteAddress; // Absent for a Unix socket; a closed connection has none either.
  const isLocal = address === undefined ? !hasHungUp({ socket }) : isLoopback({ ip: address });
  if (isLocal) return;
  throw new ForbiddenException(
    `The operations page has no guards, so it is only for this machine, not for ${address ?? 'a closed connection'}. Set \`guards\` to use it from other machines.`,
  );
}

/**
 * Rejects requests that a page of another origin has sent.
 *
 * @throws ForbiddenException
 */
export function checkOrigin(request: DashboardRequest): void {
  const { 'sec-fetch-site': site, origin } = request.headers;
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isForeign || (origin !== undefined && !isOwn(origin, request))) {
    throw new ForbiddenException('A page of another origin has sent this request.');
  }
}

/**
 * Rejects requests to change something that the operations page has not sent, and long ones.
 *
 * @throws ForbiddenException
 * @throws PayloadTooLargeException
 */
export function checkChange(request: DashboardRequest): void {
  checkOrigin(request);
  const { 'content-type': type, 'sec-fetch-site': site, 'content-length': length } = request.headers;
  if (request.headers[DASHBOARD_HEADER] !== '1' || site === 'none') {
    throw new ForbiddenException(`The header ${DASHBOARD_HEADER}: 1 is missing.`);
  }
  if (!/^application\/json\s*(;|$)/i.test(String(type))) {
    throw new ForbiddenException('The content type has to be application/json.');
  }
  if (Number(length) > LONGEST_BODY || lengthOf(request.body) > LONGEST_BODY)
    throw new PayloadTooLargeException(`At most ${LONGEST_BODY} bytes are allowed.`);
}

function lengthOf(body: unknown): number {
  try {
    return JSON.stringify(body)?.length ?? 0;
  } catch {
    return Infinity; // Nested more deeply than the stack.
  }
}

/** The host that the client sent: HTTP/2 has it in a field of its own. */
function sentHost({ headers }: DashboardRequest): string | string[] | undefined {
  return headers['host'] ?? headers[':authority'];
}

/** Whether an origin is that of the page. One without a host, such as `null`, never is. */
function isOwn(origin: string | string[], request: DashboardRequest): boolean {
  const host = URL.canParse(String(origin)) && new URL(String(origin)).host;
  return !!host && [sentHost(request), request.host].includes(host);
}

/** Returns the path of a request, and its query if it has one. Frameworks route without a fragment, which no browser sends. */
export function pathAndQuery({ originalUrl, url }: DashboardRequest): readonly [string, string?] {
  return (originalUrl ?? url).replace(/#.*/s, '').split('?') as [string, string?];
}

/** Returns the last two parts of the path of a request. */
export function pathEnd(request: DashboardRequest): readonly [string, string] {
  const [path] = pathAndQuery(request);
  return ['', '', ...path.split('/').filter(Boolean)].slice(-2) as [string, string];
}

/** Returns the entry of a name; `undefined` for what every object inherits, such as `constructor`. */
export function ownEntry<Entry>(entries: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

/** The author of changes by users without an id. */
const PAGE_AUTHOR = 'operations page';

const LONGEST = 256;

/** Returns the author of a change. */
export function authorOf(request: unknown, author?: (request: unknown) => string): string {
  const name = author ? author(request) : userSubject(request as HttpRequest);
  return (name ?? '').slice(0, LONGEST) || PAGE_AUTHOR;
}
