import { MOST_KEYS } from '../contracts/store.js';

/** The part of a rule that decides how many keys it has. */
interface Fields {
  readonly block?: unknown;
  readonly trial?: unknown;
}

/** How many keys the script gets for a rule: a counter, one for a trial limit, and a block of each. */
export function keysOfRule({ block, trial }: Fields): number {
  return (trial === undefined ? 1 : 2) * (block === undefined ? 1 : 2);
}

/**
 * What is wrong with rules that are decided together and have more keys than one call carries, if they do.
 *
 * @param path what a message calls the rules
 */
export function tooManyKeys(path: string, keys: number): string | undefined {
  if (keys <= MOST_KEYS) return undefined;
  const allowed = `at most ${MOST_KEYS}, since rules that apply together are decided by one script`;
  return `${path}: got ${keys} keys (one for each rule and trial limit, another if it has \`block\`); allowed: ${allowed}`;
}
