// Writes each `<name>.lua` under lib/ beside itself as `<name>.lua.ts`, so that the text is found
// alike from ESM, from CJS and inside a bundle. The generated files are not committed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const lib = new URL('../lib/', import.meta.url).pathname;

for (const file of readdirSync(lib, { recursive: true }).filter((path) => path.endsWith('.lua'))) {
  const text = readFileSync(join(lib, file), 'utf8');
  writeFileSync(join(lib, `${file}.ts`), `export default ${JSON.stringify(text)};\n`);
}
