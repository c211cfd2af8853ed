import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * A plugin of Rollup that resolves `./x.js` as `./x.ts`, and compiles one file at a time; types are checked elsewhere. The
 * functions that TypeScript generates for decorators are imported from tslib, without its comments, instead of being
 * repeated in each file.
 */
export function typescript() {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const forRollup = {
    module: 'ESNext',
    moduleResolution: 'Bundler',
    importHelpers: true,
    emitDecoratorMetadata: false, // Every parameter has @Inject.
    removeComments: true,
    sourceMap: true,
  };
  const compilerOptions = { ...config.compilerOptions, ...forRollup };
  return {
    name: 'typescript',
    resolveId(id, importer) {
      if (id === 'tslib') return fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs'));
      return id.startsWith('.') ? join(dirname(importer), id.replace(/\.js$/, '.ts')) : null;
    },
    transform(source, fileName) {
      if (!/[.]m?[jt]s$/.test(fileName)) return null;
      const { outputText: code, sourceMapText: map } = ts.transpileModule(source, {
        fileName,
        compilerOptions,
      });
      return { code, map };
    },
  };
}
