import { ForbiddenException, PayloadTooLargeException } from '@nestjs/common';
import { isIP } from 'node:net';

/** A request of Express or Fastify. */
export interface DashboardRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The host as the framework determines it with the proxies that it trusts. */
  readonly host?: string | undefined;
  readonly url: string;
  /** Of Express: `url` without the paths of routers removed. */
  readonly originalUrl?: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly user?: unknown;
}

/** The header of requests that change something. A page of another origin cannot send it without CORS. */
export const DASHBOARD_HEADER = 'x-rate-limit-dashboard';

/** Maximum length of the body of a request. */
const LONGEST_BODY = 16_384;

/**
 * Rejects requests to another host name than `localhost`: a page of any site can send them to this process by binding
 * its own name to the address of this process (DNS rebinding). With guards, the guards decide.
 *
 * @throws ForbiddenException
 */
export function checkHost({ headers: { host = '' } }: DashboardRequest): void {
  const name = String(host)
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || isIP(name) > 0) return;
  throw new ForbiddenException(
    'The operations page has no guards, so it is only at localhost or an IP address. Set `guards` to use another host.',
  );
}

/**
 * Rejects requests that a page of another origin has sent.
 *
 * @throws ForbiddenException
 */
export function checkOrigin(request: DashboardRequest): void {
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isForeign || (origin !== undefined && ![host, request.host].includes(hostOf(origin)))) {
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
  const isLong = Number(length) > LONGEST_BODY || (JSON.stringify(request.body)?.length ?? 0) > LONGEST_BODY;
  if (isLong) throw new PayloadTooLargeException(`At most ${LONGEST_BODY} bytes are allowed.`);
}

function hostOf(origin: string | string[]): string | undefined {
  try {
    return new URL(String(origin)).host;
  } catch {
    return undefined;
  }
}
