// Gives each module, ours and those of packages, constants for the globals that it uses. Jest runs specs in a `vm` context,
// where V8 caches no lookup of a global: arithmetic with `Math` took several times as long, and the start of an application
// spent a fifth of its time on `Reflect` and `Object`.
import swc from '@swc/jest';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Globals that no spec replaces, so without `Date` and the timers. */
const GLOBALS = (
  'Array BigInt Boolean Error Function Infinity JSON Map Math NaN Number Object Promise Reflect RegExp Set String Symbol ' +
  'TypeError WeakMap WeakRef WeakSet'
).split(' ');
const USED = GLOBALS.map((name) => [
  name,
  new RegExp(`\\b${name}\\b`),
  // What the module may declare itself, with a keyword or in a pattern.
  new RegExp(`\\b(?:var|let|const|class|function|as)\\s+${name}\\b|[{,]\\s*${name}\\s*[,}=]`),
]);
/** A directive has to stay the first statement. */
const STRICT = /^(?:\s|\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*\n)*(["'])use strict\1/;

/** On the first line, so that all lines keep their numbers. */
function withConstants(code) {
  const names = USED.filter(([, used, declared]) => used.test(code) && !declared.test(code)).map(
    ([name]) => name,
  );
  if (names.length === 0) return code;
  return `${STRICT.test(code) ? "'use strict'; " : ''}const { ${names.join(', ')} } = globalThis; ${code}`;
}

/** A change of this file makes what Jest has cached invalid. */
const VERSION = readFileSync(new URL(import.meta.url), 'utf8');
const keyOf = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest('hex');

/** Packages are compiled already. */
const PACKAGES = {
  process: (code) => ({ code: withConstants(code) }),
  processAsync: async (code) => ({ code: withConstants(code) }),
  getCacheKey: (code) => keyOf(code, VERSION),
};

export default {
  createTransformer({ packages, ...options }) {
    if (packages) return PACKAGES;
    const { process, processAsync, getCacheKey, ...rest } = swc.createTransformer(options);
    const changed = ({ code, ...others }) => ({ ...others, code: withConstants(code) });
    return {
      ...rest,
      process: (...args) => changed(process(...args)),
      processAsync: async (...args) => changed(await processAsync(...args)),
      getCacheKey: (...args) => keyOf(getCacheKey(...args), VERSION),
    };
  },
};
