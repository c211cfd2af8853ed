// Builds lib/ twice, side by side, as ES modules and as CommonJS, each with its own types. A package.json
// in dist/cjs tells Node and TypeScript what it holds; for dist/esm the one at the root does.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

mkdirSync(dist, { recursive: true });
const scratch = mkdtempSync(join(dist, '.build-'));
try {
  await Promise.all(['esm', 'cjs'].map((format) => compile(format, join(scratch, format))));
  const commonjs = { type: 'commonjs', sideEffects: false };
  writeFileSync(join(scratch, 'cjs/package.json'), `${JSON.stringify(commonjs)}\n`);
  for (const format of ['esm', 'cjs']) replace(join(scratch, format), join(dist, format));
} catch (error) {
  console.error(error.stdout || error.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function compile(format, outDir) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', `tsconfig.${format}.json`, '--outDir', outDir];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout) => {
      if (error) reject(Object.assign(error, { stdout }));
      else resolve();
    });
  });
}

/** File by file, so that whoever loads the old build meanwhile finds every file at every moment. */
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
