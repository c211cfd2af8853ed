import { boundedList, boundedPart, partOfDigest, type Subject } from '../../rules/subject.js';
import { headerIpSubject, ipSubject } from '../../http/client-ip.js';
import { EVERYONE, headerSubject, userSubject, userSubjectOf, type HttpRequest } from '../../http/subject.js';
import { addressHeaderOf, headerOf } from '../rules/by.js';
import { WITHOUT_CLIENT, type Exchange } from './exchange.js';
import type { By, SubjectResolver, CountedBy } from '../rules/route-rule.js';

/** What a function of the application returns for a subject. */
export type Found = ReturnType<SubjectResolver>;
type Part = string | undefined | typeof UNUSABLE;
/** Returns one part of the subject of a request. */
type Finder = (request: HttpRequest, exchange: Exchange) => Part | Promise<Part>;

/** The result if a function in `by` returned a value that is no subject, such as an object. */
export const UNUSABLE = Symbol('unusable');

/** A subject; `undefined` if a part of it is missing; `UNUSABLE` if a part is invalid. */
export type FoundSubject = Subject | undefined | typeof UNUSABLE;

/** Returns the subject of a request. */
export type SubjectOf = (request: HttpRequest, exchange: Exchange) => FoundSubject | Promise<FoundSubject>;

/**
 * Returns the function that returns the subject of a request for the option `by`.
 *
 * @param report called with a value that is no subject
 */
export function subjectOf(by: CountedBy, ipv6Prefix: number, report: (value: unknown) => void): SubjectOf {
  if (!Array.isArray(by)) return finderOf(by as By, ipv6Prefix, report);
  const finders = (by as readonly By[]).map((part) => finderOf(part, ipv6Prefix, report));
  return (request, exchange) => {
    const parts: ReturnType<Finder>[] = [];
    try {
      for (const find of finders) parts.push(find(request, exchange));
    } catch (error) {
      void Promise.allSettled(parts); // The promises of earlier parts still get a handler.
      throw error;
    }
    return parts.some((part) => part instanceof Promise)
      ? Promise.all(parts).then(tupleOf)
      : tupleOf(parts as Part[]);
  };
}

/**
 * Returns the subject of a request without the rule's own subject: its IP after an empty part, which no other subject
 * has. `undefined` if the request has no IP. All calls of a transport without client addresses have one subject.
 */
export function fallbackSubject(request: HttpRequest, ipv6Prefix: number): Subject | undefined {
  const ip = request === WITHOUT_CLIENT ? EVERYONE : ipSubject(ipv6Prefix)(request);
  return ip === undefined ? undefined : ['', ip];
}

function finderOf(by: By, ipv6Prefix: number, report: (value: unknown) => void): Finder {
  if (typeof by === 'function') return resolved(by, report);
  if (by === 'ip') return ipSubject(ipv6Prefix);
  if (by === 'user') return userPart;
  if (by === 'everyone') return () => EVERYONE;
  const header = addressHeaderOf(by);
  if (header !== undefined) return headerIpSubject(header, ipv6Prefix);
  const find = headerSubject(headerOf(by)!);
  return (request) => partOfDigest(find(request)); // Events have it as an object that operations accept.
}

function userPart(request: HttpRequest): string | undefined {
  const id = userSubject(request);
  return id === undefined ? id : boundedPart(id);
}

/** Converts the result of a function of the application to a part of a subject. */
function resolved(resolver: SubjectResolver, report: (value: unknown) => void): Finder {
  const read = (found: Awaited<Found>): Part => partOf(found, report);
  return (_request, exchange) => {
    const found: Found = exchange.valueOf(resolver);
    return found instanceof Promise ? found.then(read) : read(found);
  };
}

/** Whether a function in `by` returned no subject. */
export function isMissing(found: unknown): found is null | undefined | '' {
  return found === null || found === undefined || found === '';
}

/** Returns what a function of the application returned as a part of a subject. */
export function partOf(found: Awaited<Found>, report: (value: unknown) => void): Part {
  if (isMissing(found)) return undefined;
  const text = userSubjectOf(found);
  if (text === undefined) report(found);
  return text === undefined ? UNUSABLE : boundedPart(text);
}

function tupleOf(parts: readonly Part[]): readonly string[] | undefined | typeof UNUSABLE {
  if (parts.includes(UNUSABLE)) return UNUSABLE;
  return parts.every((part) => typeof part === 'string') ? boundedList(parts) : undefined;
}
