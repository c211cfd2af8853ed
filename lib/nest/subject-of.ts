import type { Subject } from '../core/key.js';
import { problem } from '../core/rate-limit-config.error.js';
import { EVERYONE, headerSubject, ipSubject, userSubject, type HttpRequest } from '../http/subject.js';
import { headerOf } from './by.js';
import { WITHOUT_CLIENT } from './exchange.js';
import { InvalidValueError } from './invalid-value.error.js';
import type { RequestValues } from './request-values.js';
import type { By, SubjectResolver } from './route-rule.js';

type Found = ReturnType<SubjectResolver>;
type Finder = (request: HttpRequest, values: RequestValues) => Found;

/** Finds who is asking; `undefined` if a part of the subject is missing. */
export type SubjectOf = (
  request: HttpRequest,
  values: RequestValues,
) => Subject | undefined | Promise<Subject | undefined>;

/**
 * The finder for what a rule says in `by`.
 *
 * @param path what a message calls the rule
 */
export function subjectOf(by: By | readonly By[], ipv6Prefix: number, path: string): SubjectOf {
  const textOf = (found: Awaited<Found>): string | undefined => readSubject(found, path);
  if (!Array.isArray(by)) {
    const find = finderOf(by as By, ipv6Prefix);
    return (request, values) => {
      const found = find(request, values);
      return found instanceof Promise ? found.then(textOf) : textOf(found);
    };
  }
  const finders = (by as readonly By[]).map((part) => finderOf(part, ipv6Prefix));
  return (request, values) => {
    const parts = findAll(finders, request, values);
    return parts.some((part) => part instanceof Promise)
      ? Promise.all(parts).then((found) => tupleOf(found.map(textOf)))
      : tupleOf((parts as Awaited<Found>[]).map(textOf));
  };
}

/**
 * The subject of a request that lacks the rule's own: its IP behind an empty part, which no rule's own
 * subject can have. `undefined` if the request has no IP. Calls of a transport without client addresses
 * count all together.
 */
export function fallbackSubject(request: HttpRequest, ipv6Prefix: number): Subject | undefined {
  const ip = request === WITHOUT_CLIENT ? EVERYONE : ipSubject(request, ipv6Prefix);
  return ip === undefined ? undefined : ['', ip];
}

/** A finder that throws must not leave the promise of an earlier one without a handler. */
function findAll(finders: readonly Finder[], request: HttpRequest, values: RequestValues): Found[] {
  const parts: Found[] = [];
  try {
    for (const find of finders) parts.push(find(request, values));
    return parts;
  } catch (error) {
    void Promise.allSettled(parts);
    throw error;
  }
}

function finderOf(by: By, ipv6Prefix: number): Finder {
  if (typeof by === 'function') return (_request, values) => values.of(by);
  switch (by) {
    case 'ip':
      return (request) => ipSubject(request, ipv6Prefix);
    case 'user':
      return userSubject;
    case 'everyone':
      return () => EVERYONE;
    default:
      return headerSubject(headerOf(by)!);
  }
}

function readSubject(found: Awaited<Found>, path: string): string | undefined {
  if (found === null || found === undefined || found === '') return undefined;
  if (typeof found === 'string' || Number.isFinite(found) || typeof found === 'bigint') return String(found);
  const allowed = 'a function that gives a string or a number, or nothing';
  throw new InvalidValueError([problem(`${path}.by`, found, allowed)]);
}

function tupleOf(parts: readonly (string | undefined)[]): readonly string[] | undefined {
  return parts.every((part) => part !== undefined) ? parts : undefined;
}
