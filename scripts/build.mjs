// Builds lib/ twice, as ES modules and as CommonJS, each with its own types. A package.json in
// each folder tells Node (and TypeScript) which of the two it holds.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const tsc = new URL('node_modules/typescript/bin/tsc', root).pathname;

for (const [format, type] of [
  ['esm', 'module'],
  ['cjs', 'commonjs'],
]) {
  const out = new URL(`dist/${format}/`, root);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  writeFileSync(new URL('package.json', out), JSON.stringify({ type }) + '\n');
  execFileSync(process.execPath, [tsc, '-p', `tsconfig.${format}.json`], { cwd: root, stdio: 'inherit' });
}
