import { shown } from '../../contracts/shown.js';
import { isFields } from '../../contracts/fields.js';

/** Returns what is wrong with an argument of @SkipRateLimit; `undefined` if it is a name. */
export function skipProblem(path: string, given: unknown): string | undefined {
  if (typeof given === 'string') return undefined;
  const names = namesIn(given).map((name) => JSON.stringify(name));
  const isAll = given === true;
  const fix =
    names.length > 0 || isAll ? `write @SkipRateLimit(${names.join(', ')})` : 'allowed: names of rules';
  return `${path}: got ${shown(given)}; ${fix}`;
}

/** Returns the names in a list, or in an object as for @nestjs/throttler. */
function namesIn(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given.filter((name) => typeof name === 'string');
  if (!isFields(given)) return [];
  return Object.keys(given).filter((name) => given[name] === true);
}
