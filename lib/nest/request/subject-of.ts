import type { Subject } from '../../rules/key.js';
import {
  EVERYONE,
  headerSubject,
  ipSubject,
  userSubject,
  userSubjectOf,
  type HttpRequest,
} from '../../http/subject.js';
import { headerOf } from '../rules/by.js';
import { WITHOUT_CLIENT } from './exchange.js';
import type { RequestValues } from './request-values.js';
import type { By, SubjectResolver } from '../rules/route-rule.js';

type Found = ReturnType<SubjectResolver>;
type Part = string | undefined | typeof UNUSABLE;
type Finder = (request: HttpRequest, values: RequestValues) => Found;

/** Stands for a subject of which a function returned something that cannot be counted by, such as an object. */
export const UNUSABLE = Symbol('unusable');

/** A subject; `undefined` if a part of it is missing. */
export type FoundSubject = Subject | undefined | typeof UNUSABLE;

/** Finds the subject of a request. */
export type SubjectOf = (request: HttpRequest, values: RequestValues) => FoundSubject | Promise<FoundSubject>;

/**
 * The finder for what a rule says in `by`.
 *
 * @param report called with a value that cannot be counted by
 */
export function subjectOf(
  by: By | readonly By[],
  ipv6Prefix: number,
  report: (value: unknown) => void,
): SubjectOf {
  const textOf = (found: Awaited<Found>): Part => {
    const text = readSubject(found);
    if (text === UNUSABLE) report(found);
    return text;
  };
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

function readSubject(found: Awaited<Found>): Part {
  if (found === null || found === undefined || found === '') return undefined;
  return userSubjectOf(found) ?? UNUSABLE;
}

function tupleOf(parts: readonly Part[]): readonly string[] | undefined | typeof UNUSABLE {
  if (parts.includes(UNUSABLE)) return UNUSABLE;
  return parts.every((part) => typeof part === 'string') ? parts : undefined;
}
