import type { Algorithm } from '../../contracts/algorithm.js';
import decide from './decide.lua.js';

/** The Lua that decides hits of the given algorithms, and no others: what it need not define costs nothing. */
export function assembleScript(algorithms: readonly Algorithm[]): string {
  const preludes = new Set(algorithms.map(({ prelude }) => prelude).filter((text) => text !== undefined));
  const modules = algorithms.map(
    ({ name, lua }, index) => `-- ${name}\nalgorithms[${index + 1}] = (function()\n${lua}end)()\n`,
  );
  return [...preludes, 'local algorithms = {}\n', ...modules, decide].join('\n');
}
