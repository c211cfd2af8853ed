import type { ExecutionContext } from '@nestjs/common';
import type { Subject } from '../core/key.js';
import { apiKeySubject, headerSubject, ipSubject, userSubject, type HttpRequest } from '../http/subject.js';
import type { By, SubjectResolver } from './route-rule.js';

type Found = ReturnType<SubjectResolver>;
type Finder = (request: HttpRequest, context: ExecutionContext) => Found;

/** Finds who is asking; `undefined` if a part of the subject is missing. */
export type SubjectOf = (
  request: HttpRequest,
  context: ExecutionContext,
) => Subject | undefined | Promise<Subject | undefined>;

/** Whether a value says who is counted. */
export function isBy(value: unknown): boolean {
  const parts = Array.isArray(value) ? value : [value];
  return (
    parts.length > 0 &&
    parts.every((part) => typeof part === 'function' || /^[\w!#$%&'*+.^`|~-]{1,64}$/.test(String(part)))
  );
}

/** The finder for what a rule says in `by`. */
export function subjectOf(by: By | readonly By[], ipv6Prefix: number): SubjectOf {
  if (!Array.isArray(by)) {
    const find = finderOf(by as By, ipv6Prefix);
    return (request, context) => {
      const found = find(request, context);
      return found instanceof Promise ? found.then(textOf) : textOf(found);
    };
  }
  const finders = (by as readonly By[]).map((part) => finderOf(part, ipv6Prefix));
  return (request, context) => {
    const parts = finders.map((find) => find(request, context));
    return parts.some((part) => part instanceof Promise)
      ? Promise.all(parts).then(tupleOf)
      : tupleOf(parts as Awaited<Found>[]);
  };
}

/** The subject of a request that lacks the rule's own: its IP, which never meets a plain subject. */
export function fallbackSubject(request: HttpRequest, ipv6Prefix: number): Subject {
  return ['ip', ipSubject(request, ipv6Prefix) ?? 'unknown'];
}

function finderOf(by: By, ipv6Prefix: number): Finder {
  if (typeof by === 'function') return (_request, context) => by(context);
  switch (by) {
    case 'ip':
      return (request) => ipSubject(request, ipv6Prefix);
    case 'user':
      return userSubject;
    case 'api-key':
      return apiKeySubject;
    case 'everyone':
      return () => 'everyone';
    default:
      return headerSubject(by);
  }
}

function textOf(found: Awaited<Found>): string | undefined {
  return found === null || found === undefined || found === '' ? undefined : String(found);
}

function tupleOf(found: readonly Awaited<Found>[]): readonly string[] | undefined {
  const parts = found.map(textOf);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}
