import { MOST_KEYS } from '../contracts/store.js';

/** The fields of a rule that determine its number of keys. */
interface Fields {
  readonly block?: unknown;
  readonly trial?: unknown;
}

/** Returns the number of keys of a rule: its counter and that of its trial limit, and a block for each. */
export function keysOfRule({ block, trial }: Fields): number {
  return (trial === undefined ? 1 : 2) * (block === undefined ? 1 : 2);
}

/**
 * Returns an error message if rules that are decided together have more keys than a call may have.
 *
 * @param path the name of the rules in the message
 */
export function tooManyKeys(path: string, keys: number): string | undefined {
  if (keys <= MOST_KEYS) return undefined;
  const allowed = `at most ${MOST_KEYS}, since rules that apply together are decided by one script`;
  return `${path}: got ${keys} keys (one for each rule and trial limit, another if it has \`block\`); allowed: ${allowed}`;
}
