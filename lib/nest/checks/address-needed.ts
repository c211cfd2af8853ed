import { shown } from '../../contracts/shown.js';
import type { RouteLimit } from '../request/route-limit.js';
import { addressHeaderOf } from '../rules/by.js';

/** Returns what is wrong with a rule of a handler without client addresses: it counts by IP; `undefined` if it does not. */
export function addressProblem({ path, fields }: RouteLimit, what: string): string | undefined {
  const part = [fields.by].flat().find((each) => each === 'ip' || addressHeaderOf(each) !== undefined);
  if (part === undefined) return undefined;
  return (
    `${path}.by: got ${shown(part)}, but ${what} has no client address; allowed: "everyone", or a function that finds the ` +
    'subject in the arguments: by: (context) => context.getArgByIndex(0).tenant'
  );
}
