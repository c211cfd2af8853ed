// Compiles TypeScript for Jest, with the globals that loops use as constants of each module. Jest runs specs in a `vm`
// context, where V8 caches no lookup of a global: arithmetic with `Math` took several times as long.
import swc from '@swc/jest';

const GLOBALS = 'Array, BigInt, Infinity, JSON, Map, Math, NaN, Number, Object, Promise, Set, String';

/** On the first line, so that all lines keep their numbers. */
function withConstants({ code, ...rest }) {
  return { ...rest, code: `const { ${GLOBALS} } = globalThis; ${code}` };
}

export default {
  createTransformer(options) {
    const { process, processAsync, getCacheKey, ...rest } = swc.createTransformer(options);
    return {
      ...rest,
      process: (...args) => withConstants(process(...args)),
      processAsync: async (...args) => withConstants(await processAsync(...args)),
      getCacheKey: (...args) => `${getCacheKey(...args)}-${GLOBALS.length}`,
    };
  },
};
