// Builds each subpath in `exports` of package.json from its file in lib/ (`./testing` from lib/testing.ts), as an ES
// module and as CommonJS, with types, and source maps of the ES modules. Code that several subpaths share is in a separate file, so that
// no class exists twice. A package.json in dist/cjs states the module format; for dist/esm, the one at the root does.
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { publicTypes } from './public-types.mjs';
import { typescript } from './typescript-plugin.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const FORMATS = ['esm', 'cjs'];

/** The folders of what decides, without Nest: a chunk of its own, which `/limiter` and the root import. */
const HEART = /[/]lib[/](contracts|algorithms|rules|layers|limiter|stores[/]memory)[/]/;

/** The texts in Lua and the operations page: chunks that ES modules import from CommonJS, so that the package has them once. */
const TEXTS = [
  ['lua', /[.]lua[.]ts$/],
  ['page', /[.]embedded[.]ts$/],
];

mkdirSync(dist, { recursive: true });
const scratch = mkdtempSync(join(dist, '.build-'));
try {
  await Promise.all([bundleCode(), bundleTypes(), bundleRegistry(), bundleCommand(), bundleSchematic()]);
  const { sideEffects } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = sideEffects.map((path) => path.replace('dist/*/', ''));
  const commonjs = { type: 'commonjs', sideEffects: own };
  writeFileSync(join(scratch, 'cjs/package.json'), `${JSON.stringify(commonjs)}\n`);
  for (const folder of [...FORMATS, 'repository']) replace(join(scratch, folder), join(dist, folder));
} catch (error) {
  console.error(error.stdout || error);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** The source files of the subpaths, by the name of the built file. */
function entriesIn(folder, extension) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const subpaths = Object.keys(exports).filter((subpath) => subpath !== './package.json');
  const names = subpaths.map((subpath) => subpath.slice(2) || 'index');
  return Object.fromEntries(names.map((name) => [name, join(folder, `${name}${extension}`)]));
}

function bundle(input, plugin) {
  return rollup({
    input,
    plugins: [plugin],
    external: (id) => /^[^./]/.test(id) && id !== 'tslib',
    treeshake: { unknownGlobalSideEffects: false }, // A helper of tslib reads one that is not used.
    onwarn: ({ code, message }) => {
      if (code === 'UNUSED_EXTERNAL_IMPORT') return; // a type that only internals of classes name
      throw new Error(message);
    },
  });
}

/** The rest of the code of the root is one file, which the other subpaths import. */
function output(input, extension, manualChunks) {
  return {
    entryFileNames: `[name]${extension}`,
    chunkFileNames: ({ name }) => `${name.replace(/[.]d$/, '')}${extension}`,
    generatedCode: { arrowFunctions: true, constBindings: true, objectShorthand: true },
    hoistTransitiveImports: false,
    minifyInternalExports: false, // the names of texts are those of CommonJS
    manualChunks,
  };
}

/** Returns the chunk of each text, and of each module that the root reaches. */
function chunksOf({ index }) {
  let reached;
  return (id, { getModuleInfo }) => {
    const text = TEXTS.find(([, file]) => file.test(id));
    if (text) return text[0];
    reached ??= importsOf(index, getModuleInfo);
    if (!reached.has(id)) return undefined;
    return HEART.test(id.replaceAll('\\', '/')) ? 'heart' : 'core';
  };
}

function importsOf(entry, getModuleInfo) {
  const found = new Set([entry]);
  for (const id of found) for (const each of getModuleInfo(id)?.importedIds ?? []) found.add(each);
  return found;
}

async function bundleCode() {
  const input = entriesIn(join(root, 'lib'), '.ts');
  const code = await bundle(input, typescript());
  // Maps of one format, without the sources: stack traces keep the lines of TypeScript.
  const of = (format) => ({
    ...output(input, '.js', chunksOf(input)),
    dir: join(scratch, format),
    format,
    sourcemap: format === 'esm',
    sourcemapExcludeSources: true,
  });
  await Promise.all(FORMATS.map((format) => code.write({ ...of(format), dynamicImportInCjs: false })));
  for (const [name] of TEXTS) {
    writeFileSync(join(scratch, 'esm', `${name}.js`), `export * from '../cjs/${name}.js';\n`);
    rmSync(join(scratch, 'esm', `${name}.js.map`));
  }
  for (const file of filesIn(join(scratch, 'esm')).filter((name) => name.endsWith('.map'))) {
    const path = join(scratch, 'esm', file);
    writeFileSync(path, JSON.stringify(linesOf(JSON.parse(readFileSync(path, 'utf8')))));
  }
}

/** Returns a source map with lines only, a fifth of the size: no columns, no names. */
function linesOf(map) {
  const lines = decode(map.mappings).map((segments) =>
    segments
      .filter(([, source, line], index) => {
        const [, before, lineBefore] = segments[index - 1] ?? [];
        return source !== undefined && (source !== before || line !== lineBefore);
      })
      .map((segment) => segment.slice(0, 4)),
  );
  const sources = map.sources.map((source) => source.replace('../', '')); // the build is one folder deeper
  return { ...map, sources, names: [], mappings: encode(lines) };
}

/** The algorithms with their examples, for the benchmarks and scripts of this repository. Not published. */
async function bundleRegistry() {
  const folder = join(root, 'lib/algorithms');
  const example = join(folder, '../../test/support/example-rule.ts');
  const input = { registry: join(folder, 'registry.ts'), example };
  const code = await bundle(input, typescript());
  await code.write({ dir: join(scratch, 'repository'), format: 'esm', entryFileNames: '[name].js' });
}

/** The command of package.json's `bin`. */
async function bundleCommand() {
  const code = await bundle({ cli: join(root, 'lib/cli.ts') }, typescript());
  const names = { entryFileNames: '[name].js', chunkFileNames: 'cli-[name].js' };
  await code.write({ dir: join(scratch, 'esm'), format: 'esm', ...names, manualChunks: commandOf });
}

/** Each command is a file of its own, which is loaded when the command runs. */
function commandOf(id) {
  return /lib\/(migrate|simulate)\//.exec(id)?.[1];
}

/** The schematic of `nest add`, which the Nest CLI loads as CommonJS. */
async function bundleSchematic() {
  const folder = join(root, 'lib/schematics');
  const code = await bundle({ 'nest-add': join(folder, 'nest-add.ts') }, typescript());
  await code.write({ dir: join(scratch, 'cjs'), format: 'cjs', entryFileNames: '[name].js' });
  for (const file of ['collection.json', 'nest-add.schema.json']) {
    copyFileSync(join(folder, file), join(scratch, 'cjs', file));
  }
}

/** Both formats have the same types. */
async function bundleTypes() {
  const declarations = join(scratch, 'types');
  await compile(declarations);
  for (const file of filesIn(declarations)) {
    const path = join(declarations, file);
    writeFileSync(path, publicTypes(readFileSync(path, 'utf8')));
  }
  const input = entriesIn(declarations, '.d.ts');
  const types = await bundle(input, dts());
  for (const format of FORMATS) {
    const chunks = { core: [input.index] }; // Types of one file need no names that are not public.
    await types.write({ ...output(input, '.d.ts', chunks), dir: join(scratch, format) });
  }
}

function compile(outDir) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', outDir];
  return promisify(execFile)(process.execPath, args, { cwd: root });
}

/** Replaces the files one by one, so that a process that loads the old build meanwhile always finds every file. */
function replace(from, to) {
  const built = new Set(filesIn(from));
  for (const file of built) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    renameSync(join(from, file), join(to, file));
  }
  for (const file of filesIn(to)) if (!built.has(file)) rmSync(join(to, file));
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}
