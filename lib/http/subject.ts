import { createHash } from 'node:crypto';
import { canonicalIp } from './ip.js';

/** What an HTTP request tells about who sent it, in any framework. */
export interface HttpRequest {
  /** The client's address as the framework sees it, with the proxies that it was told to trust. */
  readonly ip?: string | undefined;
  /** By lowercase name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** Whoever the application has authenticated. */
  readonly user?: unknown;
  readonly socket?: { readonly remoteAddress?: string | undefined } | undefined;
}

/** Headers whose values let whoever reads them in act as the user. */
const SECRETS: ReadonlySet<string> = new Set(['x-api-key', 'authorization', 'proxy-authorization', 'cookie']);

/**
 * The client's IP as `canonicalIp` spells it, `undefined` if it is not known.
 *
 * It never reads `X-Forwarded-For`, which a client can write: the framework does, if it was told which
 * proxies to trust. An `ip` that is no address counts as the peer, so that nobody escapes by sending one.
 */
export function ipSubject(request: HttpRequest, ipv6Prefix?: number): string | undefined {
  return canonicalIp(request.ip, ipv6Prefix) ?? canonicalIp(request.socket?.remoteAddress, ipv6Prefix);
}

/** The authenticated user: `request.user` itself or its `id`, `sub` or `userId`, the first that is an id. */
export function userSubject({ user }: HttpRequest): string | undefined {
  if (typeof user !== 'object' || user === null) return idOf(user);
  const { id, sub, userId } = user as Record<string, unknown>;
  return idOf(id) ?? idOf(sub) ?? idOf(userId);
}

/** The value of `x-api-key`, hashed. */
export const apiKeySubject = headerSubject('x-api-key');

/**
 * Makes a function that finds the value of a header, `undefined` if it is missing or empty.
 *
 * Secrets (`x-api-key`, `authorization`, `proxy-authorization`, `cookie`) come as 128 bits of their SHA-256
 * in hex, so that no store ever sees them.
 *
 * @param name in any case
 */
export function headerSubject(name: string): (request: HttpRequest) => string | undefined {
  const key = name.toLowerCase();
  const spell = SECRETS.has(key) ? hashed : (value: string) => value;
  return ({ headers }) => {
    const value = headers !== undefined && Object.hasOwn(headers, key) ? headers[key] : undefined;
    const text = Array.isArray(value) ? value.join(',') : value;
    return typeof text === 'string' && text !== '' ? spell(text) : undefined;
  };
}

function hashed(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 32);
}

function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return Number.isFinite(value) || typeof value === 'bigint' ? String(value) : undefined;
}
