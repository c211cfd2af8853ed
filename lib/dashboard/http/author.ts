import { userSubject, type HttpRequest } from '../../http/subject.js';

/** The author of changes by users without an id. */
export const PAGE_AUTHOR = 'operations page';

const LONGEST = 256;

/** Returns the author of a change. */
export function authorOf(request: unknown, author?: (request: unknown) => string): string {
  const name = author ? author(request) : userSubject(request as HttpRequest);
  return (name ?? '').slice(0, LONGEST) || PAGE_AUTHOR;
}
