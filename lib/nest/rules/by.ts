import { nearest } from '../../contracts/rate-limit-config.error.js';
import { isFields } from '../../contracts/fields.js';
import type { OptionCheck } from '../../contracts/options.js';
import type { SubjectResolver, CountedBy } from './route-rule.js';

const KEYWORDS = ['ip', 'user', 'api-key', 'everyone'] as const;

/** Headers that `by` accepts by name although the name has no hyphen. */
const PLAIN_HEADERS = ['authorization', 'cookie'] as const;

/** The header that `by: 'api-key'` reads. */
const API_KEY_HEADER = 'x-api-key';

/** A header's name: a token of RFC 9110. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,64}$/;

/** Names of the keywords in other libraries. */
const ALIASES: readonly (readonly [names: RegExp, keyword: (typeof KEYWORDS)[number]])[] = [
  [/^((req|request)\.ip|(client|remote)_?ip|(ip|remote)_?addr(ess)?)$/i, 'ip'],
  [/^((req|request)\.user(\.\w+)?|user[._]?(id|name|email)|uid|sub|account_?id)$/i, 'user'],
  [/^(global|all|any|nobody|none|\*)$/i, 'everyone'],
];

/** The allowed values of `by`. */
export const BY: OptionCheck = {
  allowed:
    '"ip", "user", "api-key", "everyone", "authorization", "cookie", a header with a hyphen in its name, ' +
    '{ header: "name" } for any other header (in a variable header:name), { ip: "name" } for a header with the IP ' +
    'address of the client (ip:name), a function, or a list of these',
  accepts: (value) => partsOf(value).length > 0 && partsOf(value).every(isPart),
  fix: (value) => fixOf(partsOf(value).find((part) => !isPart(part))),
};

/** The parts of a request that a rule counts by. */
export type SubjectParts = Readonly<ReturnType<typeof subjectParts>>;

/** Returns the parts of a request that a rule counts by. */
export function subjectParts(by: CountedBy) {
  const parts = partsOf(by);
  return {
    ip: parts.includes('ip'),
    user: parts.includes('user'),
    /** The functions of the application that return a part. */
    functions: parts.filter((part) => typeof part === 'function') as SubjectResolver[],
    /** The names of headers whose values are parts, in lower case. */
    headers: parts.map(headerOf).filter((name) => name !== undefined),
    /** The names of headers with the address of the client, in lower case. */
    addressHeaders: parts.map(addressHeaderOf).filter((name) => name !== undefined),
  };
}

/** The header that a part of `by` reads the address of the client from, in lower case. */
export function addressHeaderOf(part: unknown): string | undefined {
  return isFields(part) ? (part['ip'] as string | undefined)?.toLowerCase() : undefined;
}

/** The header whose value a part of `by` is, in lower case. */
export function headerOf(part: unknown): string | undefined {
  if (isFields(part)) return (part['header'] as string | undefined)?.toLowerCase();
  if (part === 'api-key') return API_KEY_HEADER;
  return typeof part === 'string' && !isKeyword(part) ? part.toLowerCase() : undefined;
}

/** Whether two rules count by the same subject. */
export function countBySameSubject(one: unknown = 'ip', other: unknown = 'ip'): boolean {
  const [parts, others] = [partsOf(one), partsOf(other)];
  return parts.length === others.length && parts.every((part, index) => isSamePart(part, others[index]));
}

/** Parses `by` from the text of a variable: commas separate a list, and `header:apikey` and `ip:true-client-ip` are headers. */
export function byFromText(text: string): unknown {
  const parts = text.split(',').map((part) => {
    const name = part.trim();
    const [, kind, header] = /^(header|ip):(.*)$/.exec(name) ?? [];
    return kind === undefined ? name : { [kind]: header };
  });
  return parts.length === 1 ? parts[0] : parts;
}

/**
 * Returns a function for `by` that finds the subject in the arguments of a provider's method.
 *
 * @param find returns the subject of a call; `undefined`, `null` or `''` if it has none
 * @example
 * `@RateLimit('geocoder', { by: byArguments((address: string, tenant: string) => tenant) })`
 */
export function byArguments(find: (...args: never[]) => ReturnType<SubjectResolver>): SubjectResolver {
  return (context) => find(...context.getArgs<never[]>());
}

function partsOf(by: unknown): readonly unknown[] {
  return Array.isArray(by) ? by : [by];
}

function isSamePart(one: unknown, other: unknown): boolean {
  const isSame = (nameOf: (part: unknown) => string | undefined): boolean =>
    nameOf(one) !== undefined && nameOf(one) === nameOf(other);
  return one === other || isSame(headerOf) || isSame(addressHeaderOf);
}

function isPart(part: unknown): boolean {
  if (typeof part === 'function') return true;
  if (typeof part === 'string') return isKeyword(part) || isHeaderName(part);
  const [[kind, header] = [], ...others] = isFields(part) ? Object.entries(part) : [];
  if (others.length > 0 || typeof header !== 'string' || !TOKEN.test(header)) return false;
  return kind === 'header' || (kind === 'ip' && !isChain(header));
}

/** Whether a header has the addresses of all proxies, of which a client can send any. */
function isChain(header: unknown): boolean {
  return typeof header === 'string' && /^(x-forwarded-for|forwarded)$/i.test(header);
}

function isKeyword(text: string): boolean {
  return (KEYWORDS as readonly string[]).includes(text);
}

/** Whether a text is a header name. `Api-Key` is rejected, since the keyword may be meant. */
function isHeaderName(text: string): boolean {
  const name = text.toLowerCase();
  if (isKeyword(name)) return false;
  return (PLAIN_HEADERS as readonly string[]).includes(name) || (name.includes('-') && TOKEN.test(name));
}

/** Returns what to write instead of a part of `by`; `undefined` if that is not known. */
export function fixOf(part: unknown): string | undefined {
  if (isFields(part) && isChain(part['ip']))
    return 'write "ip", and name the trusted proxies in the framework: it reads this header, which a client can send too';
  if (typeof part !== 'string') return undefined;
  const alias = ALIASES.find(([names]) => names.test(part))?.[1];
  if (alias !== undefined) return `write "${alias}", or a function of the ExecutionContext`;
  const word = nearest(part.toLowerCase(), [...KEYWORDS, ...PLAIN_HEADERS]);
  const header = TOKEN.test(part) ? `{ header: "${part}" } for a header of that name` : undefined;
  if (word === undefined) return header && `write ${header}`;
  return `did you mean "${word}"${header === undefined ? '' : `, or ${header}`}?`;
}
