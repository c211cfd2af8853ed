#!/usr/bin/env node
// npx nestjs-redis-rate-limit migrate [path] [--dry]
import { parseArgs } from 'node:util';
import { loadTsMorph } from './migrate/load-ts-morph.js';
import { migrate } from './migrate/migrate.js';

const USAGE = `npx nestjs-redis-rate-limit migrate [path] [--dry]

Moves an application from @nestjs/throttler to nestjs-redis-rate-limit: modules, decorators and guards.

  path    a folder or a tsconfig.json; default: the current folder
  --dry   prints what would change, and writes nothing`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { dry: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
const [command, path = '.', ...others] = positionals;
if (values.help || command !== 'migrate' || others.length > 0) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 1;
} else {
  for (const line of await migrate(await loadTsMorph(), path, values.dry)) console.log(line);
}
