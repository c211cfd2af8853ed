import { shown } from '../../contracts/shown.js';
import { isFields } from '../../contracts/fields.js';

/** Says what is wrong with what @SkipRateLimit was given in the place of a rule's name, and what to write. */
export function skipProblem(path: string, given: unknown): string | undefined {
  if (typeof given === 'string') return undefined;
  const names = namesIn(given).map((name) => JSON.stringify(name));
  const isAll = given === true;
  const fix =
    names.length > 0 || isAll ? `write @SkipRateLimit(${names.join(', ')})` : 'allowed: names of rules';
  return `${path}: got ${shown(given)}; ${fix}`;
}

/** Of a list, or of an object as @nestjs/throttler takes it. */
function namesIn(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given.filter((name) => typeof name === 'string');
  if (!isFields(given)) return [];
  return Object.keys(given).filter((name) => given[name] === true);
}
