import { createHash } from 'node:crypto';

/** What an HTTP request tells about who sent it, in any framework. */
export interface HttpRequest {
  /** The client's address as the framework sees it, with the proxies that it was told to trust. */
  readonly ip?: string | undefined;
  /** By lowercase name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** Whoever the application has authenticated. */
  readonly user?: unknown;
  readonly socket?:
    { readonly remoteAddress?: string | undefined; readonly destroyed?: boolean | undefined } | undefined;
}

/** The authenticated user: `request.user` itself or its `id`, `sub`, `userId` or `_id`, the first that is an id. */
export function userSubject({ user }: HttpRequest): string | undefined {
  if (typeof user !== 'object' || user === null) return userSubjectOf(user);
  const { id, sub, userId, _id } = user as Record<string, unknown>;
  return userSubjectOf(id) ?? userSubjectOf(sub) ?? userSubjectOf(userId) ?? userSubjectOf(_id);
}

/** The hash of the value of `x-api-key`. */
export const apiKeySubject = headerSubject('x-api-key');

/**
 * Makes a function that finds the subject in a header: the hash of its value, `undefined` if the header is
 * missing or empty. A header that came several times counts as its values joined by commas.
 *
 * @param name in any case
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
 * The subject of an id in a rule with `by: 'user'`: a text that is not empty, a number, or an object whose class
 * makes a text of it, such as an ObjectId.
 */
export function userSubjectOf(id: unknown): string | undefined {
  if (typeof id === 'string') return id === '' ? undefined : id;
  if (typeof id === 'object' && id !== null) return textOfObject(id);
  return Number.isFinite(id) || typeof id === 'bigint' ? String(id) : undefined;
}

/** The subject of an API key in a rule with `by: 'api-key'`. */
export const apiKeySubjectOf = headerSubjectOf('x-api-key');

/** The subject of all requests together, in a rule with `by: 'everyone'`. */
export const EVERYONE = 'everyone';

/**
 * Makes a function from a header's value to its subject: 128 bits of the SHA-256 in hex, so that no store,
 * event or log has the value. `undefined` for an empty value.
 *
 * @param name in any case
 */
export function headerSubjectOf(name: string): (value: string | undefined) => string | undefined {
  const canonical = name.toLowerCase() === 'authorization' ? canonicalCredentials : trimmed;
  return (value) => {
    const text = typeof value === 'string' ? canonical(value) : '';
    return text === '' ? undefined : createHash('sha256').update(text).digest('hex').slice(0, 32);
  };
}

/** Node trims what arrives; a person's text may have spaces around it. */
function trimmed(value: string): string {
  return value.trim();
}

/**
 * `Bearer token`, `bearer token` and `Bearer  token` are one: the scheme has no case (RFC 9110), and parsers
 * skip any number of spaces behind it, so that a client could have a counter for each spelling.
 */
function canonicalCredentials(value: string): string {
  const text = value.trim();
  const end = text.search(/\s/);
  return end < 0 ? text : `${text.slice(0, end).toLowerCase()} ${text.slice(end).trim()}`;
}

/** A client can send plain objects and lists, and bytes that are no text may be one text for several ids. */
function textOfObject(id: object): string | undefined {
  if (Array.isArray(id) || ArrayBuffer.isView(id)) return undefined;
  const { toString } = (Object.getPrototypeOf(id) ?? {}) as { toString?: () => unknown };
  try {
    const text = toString?.call(id);
    return typeof text === 'string' && !/^(\[object .*)?$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
