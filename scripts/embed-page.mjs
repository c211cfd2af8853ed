// Writes the files of lib/dashboard/page as texts in the module page.embedded.ts beside that folder, with the script
// compiled and bundled, so that the page is inside the built file, and the version of the package. The module is not committed.
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minify } from '@swc/core';
import { rollup } from 'rollup';
import { typescript } from './typescript-plugin.mjs';

const script = fileURLToPath(import.meta.url);
const folder = join(dirname(script), '../lib/dashboard/page');
const module = join(folder, '../page.embedded.ts');
const files = readdirSync(folder).filter((name) => !name.endsWith('.spec.ts'));
/** The view library of the page, which is inside the built file: docs/adr/0098. */
const preact = {
  name: 'preact',
  resolveId: (id) => (/^preact\b/.test(id) ? fileURLToPath(import.meta.resolve(id)) : null),
};

if (isOutdated()) {
  const bundle = await rollup({ input: join(folder, 'main.ts'), plugins: [typescript(), preact] });
  const licence = readFileSync(join(dirname(script), '../node_modules/preact/LICENSE'), 'utf8');
  const { output } = await bundle.generate({ format: 'es' });
  const { code } = await minify(output[0].code, { module: true, compress: true, mangle: true });
  const page = {
    html: textOf('page.html'),
    css: textOf('page.css'),
    js: `/* Contains Preact.\n\n${licence}*/\n${code}`,
  };
  const { version } = JSON.parse(readFileSync(join(dirname(script), '../package.json'), 'utf8'));
  const type = `Readonly<Record<'html' | 'css' | 'js', string>>`;
  // Renamed atomically, so that another build never reads an incomplete file.
  writeFileSync(
    `${module}.${process.pid}`,
    `export const page: ${type} = ${JSON.stringify(page, null, 2)};\nexport const version = '${version}';\n`,
  );
  renameSync(`${module}.${process.pid}`, module);
}

function isOutdated() {
  const built = statSync(module, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // The folder's time changes when a file is added or removed.
  const others = [script, folder, join(folder, '../snapshot.ts'), join(folder, '../snapshot-patch.ts')];
  return [...others, ...files.map((name) => join(folder, name))].some(
    (path) => statSync(path).mtimeMs > built,
  );
}

function textOf(name) {
  return readFileSync(join(folder, name), 'utf8');
}
