import type { RouteLimit } from '../request/route-limit.js';

/** Returns what is wrong with a rule of a handler without client addresses: it counts by IP; `undefined` if it does not. */
export function addressProblem({ path, fields }: RouteLimit, what: string): string | undefined {
  if (![fields.by].flat().includes('ip')) return undefined;
  return (
    `${path}.by: got "ip", but ${what} has no client address; allowed: "everyone", or a function that finds the ` +
    'subject in the arguments: by: (context) => context.getArgByIndex(0).tenant'
  );
}
