// Writes each `<name>.lua` under lib/ beside itself as `<name>.lua.ts`, so that the text is found
// alike from ESM, from CJS and inside a bundle. The generated files are not committed.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const lib = fileURLToPath(new URL('../lib/', import.meta.url));
const files = readdirSync(lib, { recursive: true });

for (const file of files.filter((path) => path.endsWith('.lua'))) {
  const text = readFileSync(join(lib, file), 'utf8');
  const embedded = join(lib, `${file}.ts`);
  // Typed as a string, or the declaration would hold the whole text once more.
  const source = `const lua: string = ${JSON.stringify(text)};\nexport default lua;\n`;
  if (existsSync(embedded) && readFileSync(embedded, 'utf8') === source) continue;
  // In one move, so that a build beside this one never reads half a file.
  writeFileSync(`${embedded}.${process.pid}`, source);
  renameSync(`${embedded}.${process.pid}`, embedded);
}

for (const file of files.filter((path) => path.endsWith('.lua.ts'))) {
  if (!files.includes(file.slice(0, -'.ts'.length))) rmSync(join(lib, file));
}
