import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as TsMorph from 'ts-morph';
import { migrate, wrong } from './migrate.js';
import { useTsMorph } from './ts-morph.js';

/** ts-morph has the TypeScript compiler in it, which is too large for a dependency of an application. */
const VERSION = '^28.0.0';

/**
 * Loads ts-morph from the project, or installs it into a temporary folder.
 *
 * @throws Error if it cannot be installed
 */
export async function loadTsMorph(): Promise<typeof TsMorph> {
  const folder = join(tmpdir(), 'nestjs-redis-rate-limit-migrate');
  const found = resolveFrom(process.cwd()) ?? resolveFrom(folder) ?? install(folder);
  const loaded = (await import(pathToFileURL(found).href)) as typeof TsMorph & { default?: typeof TsMorph };
  return loaded.default ?? loaded;
}

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'package.json')).resolve('ts-morph');
  } catch {
    return undefined;
  }
}

function install(folder: string): string {
  console.log(`Installing ts-morph ${VERSION} into ${folder} ...`);
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `ts-morph@${VERSION}`];
  spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' });
  const found = resolveFrom(folder);
  if (found === undefined) {
    throw new Error('ts-morph could not be installed; run: npm install --no-save ts-morph, and try again');
  }
  return found;
}

/**
 * Runs `migrate` with the arguments after its name.
 *
 * @returns the text to print, and whether every route has the limits that it had
 * @throws Error with `problems` if an argument is wrong
 */
export async function migrateCommand(args: readonly string[]): Promise<{ text: string; isSame: boolean }> {
  const { dryRun, force, paths } = read(args);
  useTsMorph(await loadTsMorph());
  const { lines, isSame } = await migrate(paths[0] ?? '.', { dryRun, force });
  return { text: lines.join('\n'), isSame };
}

function read(args: readonly string[]) {
  const known = ['--dry-run', '--force'];
  const unknown = args.find((each) => each.startsWith('-') && !known.includes(each));
  const paths = args.filter((each) => !each.startsWith('-'));
  if (unknown !== undefined) throw wrong(`option of migrate: got "${unknown}"; allowed: ${known.join(', ')}`);
  if (paths.length > 1)
    throw wrong(`paths: got ${JSON.stringify(paths)}; allowed: one folder or tsconfig.json`);
  return { dryRun: args.includes('--dry-run'), force: args.includes('--force'), paths };
}
