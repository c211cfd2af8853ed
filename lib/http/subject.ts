import { createHash } from 'node:crypto';

/** The parts of an HTTP request that identify its client, in any framework. */
export interface HttpRequest {
  /** The client's address, which the framework determines with the proxies that it trusts. */
  readonly ip?: string | undefined;
  /** The headers by lowercase name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** The user that the application has authenticated. */
  readonly user?: unknown;
  readonly socket?:
    | {
        readonly remoteAddress?: string | undefined;
        readonly localAddress?: string | undefined;
        readonly destroyed?: boolean | undefined;
      }
    | undefined;
}

/** Whether the client has disconnected. If it has reset a connection, Node.js closes it later, but the peer is unknown. */
export function hasHungUp({ socket }: HttpRequest): boolean {
  const { destroyed, remoteAddress, localAddress } = socket ?? {};
  return destroyed === true || (remoteAddress === undefined && localAddress !== undefined);
}

/** Returns the id of the user: `request.user` itself, or the first of its `id`, `sub`, `userId`, `_id` that is an id. */
export function userSubject({ user }: HttpRequest): string | undefined {
  if (typeof user !== 'object' || user === null) return userSubjectOf(user);
  const { id, sub, userId, _id } = user as Record<string, unknown>;
  return userSubjectOf(id) ?? userSubjectOf(sub) ?? userSubjectOf(userId) ?? userSubjectOf(_id);
}

/**
 * Returns a function that returns the subject in a header: the hash of its value; `undefined` if the header is missing
 * or empty. The values of a repeated header are joined with commas.
 *
 * @param name in upper or lower case
 */
export function headerSubject(name: string): (request: HttpRequest) => string | undefined {
  const key = name.toLowerCase();
  const subjectOf = headerSubjectOf(key);
  return ({ headers }) => {
    const value = headers !== undefined && Object.hasOwn(headers, key) ? headers[key] : undefined;
    return subjectOf(Array.isArray(value) ? value.join(',') : value);
  };
}

/**
 * Returns the subject for a user id in a rule with `by: 'user'`. An id is a non-empty string, a number, or an object
 * whose class converts it to a string, such as an ObjectId.
 */
export function userSubjectOf(id: unknown): string | undefined {
  if (typeof id === 'string') return id === '' ? undefined : id;
  if (typeof id === 'object' && id !== null) return textOfObject(id);
  return Number.isFinite(id) || typeof id === 'bigint' ? String(id) : undefined;
}

/** The subject of all requests in a rule with `by: 'everyone'`. */
export const EVERYONE = 'everyone';

/**
 * Returns a function that returns the subject for a header value: 128 bits of its SHA-256 in hex, so that no store,
 * event or log contains the value. It returns `undefined` for an empty value.
 *
 * @param name in upper or lower case
 */
export function headerSubjectOf(name: string): (value: string | undefined) => string | undefined {
  const isAuthorization = name.toLowerCase() === 'authorization';
  return (value) => {
    // Node.js trims the headers of requests, but a value that a program passes may have spaces around it.
    const trimmed = typeof value === 'string' ? value.trim() : '';
    const text = isAuthorization ? canonicalCredentials(trimmed) : trimmed;
    return text === '' ? undefined : createHash('sha256').update(text).digest('hex').slice(0, 32);
  };
}

/**
 * Returns the same text for `Bearer token`, `bearer token` and `Bearer  token`. The scheme is case-insensitive (RFC
 * 9110) and parsers skip any number of spaces after it, so a client could otherwise have a counter for each variant.
 */
function canonicalCredentials(text: string): string {
  const end = text.search(/\s/);
  return end < 0 ? text : `${text.slice(0, end).toLowerCase()} ${text.slice(end).trim()}`;
}

/** Rejects plain objects and lists, which a client can send, bytes, where several ids may have the same text, and dates. */
function textOfObject(id: object): string | undefined {
  if (Array.isArray(id) || ArrayBuffer.isView(id) || id instanceof Date) return undefined;
  const { toString } = (Object.getPrototypeOf(id) ?? {}) as { toString?: () => unknown };
  try {
    const text = toString?.call(id);
    return typeof text === 'string' && !/^(\[object .*)?$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
