// Writes each `<name>.lua` in lib/ as a module `<name>.lua.ts` beside it (a LuaModule), so that the text is available
// in ESM, in CommonJS and inside a bundle. The generated files are not committed.
//
// A line `-- @needs rate, backlog` lists the files that must precede a file, by their names without `.lua`, which are
// unique in lib/. An unknown name or a cycle is an error.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const lib = process.argv[2] ?? fileURLToPath(new URL('../lib/', import.meta.url));
const files = readdirSync(lib, { recursive: true }).map((path) => path.split(sep).join('/'));

const REGISTRY = 'algorithms/registry.lua.ts';
const modules = new Map();
for (const file of files.filter((path) => path.endsWith('.lua'))) {
  const name = basename(file, '.lua');
  const text = readFileSync(join(lib, file), 'utf8');
  const needs = [...text.matchAll(/^-- @needs +(.+)$/gm)].flatMap(([, names]) => names.split(/, */));
  if (modules.has(name))
    throw new Error(`two Lua files are named ${name}: ${modules.get(name).file}, ${file}`);
  modules.set(name, { name, file, text, needs });
}
for (const name of modules.keys()) checkNeeds(name, []);

for (const module of modules.values()) {
  writeChanged(`${module.file}.ts`, sourceOf(module));
}

const ofAlgorithms = [...modules.values()].filter(({ file }) => /^algorithms\/.+\//.test(file));
if (ofAlgorithms.length > 0) writeChanged(REGISTRY, registryOf(ofAlgorithms));

for (const file of files.filter((path) => path.endsWith('.lua.ts') && path !== REGISTRY)) {
  if (!files.includes(file.slice(0, -'.ts'.length))) rmSync(join(lib, file));
}

function writeChanged(file, source) {
  const path = join(lib, file);
  if (existsSync(path) && readFileSync(path, 'utf8') === source) return;
  // Renamed atomically, so that another build never reads an incomplete file.
  writeFileSync(`${path}.${process.pid}`, source);
  renameSync(`${path}.${process.pid}`, path);
}

/** The Lua of the algorithms by file name. Only the Redis store imports it, so that other applications do not load it. */
function registryOf(files) {
  return [
    "import type { LuaModule } from '../contracts/lua-module.js';\n",
    ...files.map(({ file }, index) => `import lua${index} from './${file.replace('algorithms/', '')}.js';\n`),
    'export const algorithmLua: Readonly<Record<string, LuaModule | undefined>> = {\n',
    ...files.map(({ name }, index) => `  '${name}': lua${index},\n`),
    '};\n',
  ].join('');
}

/** Returns Lua without its comments and indentation: two fifths fewer bytes in the package, and for Redis to compile. */
function codeOf(text) {
  const lines = text.split('\n').map((line) => line.trim());
  return `${lines.filter((line) => line !== '' && !line.startsWith('--')).join('\n')}\n`;
}

function checkNeeds(name, path) {
  if (path.includes(name)) throw new Error(`Lua files need one another: ${[...path, name].join(' -> ')}`);
  for (const need of modules.get(name).needs) {
    if (!modules.has(need))
      throw new Error(`${modules.get(name).file} needs "${need}", but no Lua file has that name`);
    checkNeeds(need, [...path, name]);
  }
}

function sourceOf({ name, file, text, needs }) {
  const pathTo = (target) => {
    const path = posix.relative(dirname(file), target);
    return path.startsWith('.') ? path : `./${path}`;
  };
  const imports = needs.map(
    (need, index) => `import need${index} from '${pathTo(modules.get(need).file)}.js';\n`,
  );
  return [
    `import type { LuaModule } from '${pathTo('contracts/lua-module.js')}';\n`,
    ...imports,
    // With a type, so that the declaration does not contain the text as well.
    `const lua: LuaModule = {\n  name: '${name}',\n  needs: [${needs.map((_, index) => `need${index}`).join(', ')}],\n`,
    `  text: ${JSON.stringify(codeOf(text))},\n};\nexport default lua;\n`,
  ].join('');
}
