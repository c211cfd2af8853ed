// Writes each `<name>.lua` under lib/ beside itself as `<name>.lua.ts`, so that the text is found
// alike from ESM, from CJS and inside a bundle. The generated files are not committed.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const lib = new URL('../lib/', import.meta.url).pathname;

for (const file of readdirSync(lib, { recursive: true }).filter((path) => path.endsWith('.lua'))) {
  const text = readFileSync(join(lib, file), 'utf8');
  const embedded = join(lib, `${file}.ts`);
  const source = `export default ${JSON.stringify(text)};\n`;
  if (existsSync(embedded) && readFileSync(embedded, 'utf8') === source) continue;
  // In one move, so that a build beside this one never reads half a file.
  writeFileSync(`${embedded}.${process.pid}`, source);
  renameSync(`${embedded}.${process.pid}`, embedded);
}
