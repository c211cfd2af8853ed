import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as TsMorph from 'ts-morph';

/** The library, which the command loads: it is no dependency of an application. */
export let tsMorph: typeof TsMorph;
export let Node: typeof TsMorph.Node;
export type Node = TsMorph.Node;
export let SyntaxKind: typeof TsMorph.SyntaxKind;

/** Migrates with a loaded library from now on. */
export function useTsMorph(loaded: typeof TsMorph): void {
  ({ Node, SyntaxKind } = tsMorph = loaded);
}

/** The values of an object literal by their names. */
export type Values = ReadonlyMap<string, Node>;

/** ts-morph has the TypeScript compiler in it, which is too large for a dependency of an application. */
const VERSION = '^28.0.0';

/**
 * Loads ts-morph from the project, or installs it into a temporary folder.
 *
 * @throws Error if it cannot be installed
 */
export async function loadTsMorph(): Promise<void> {
  const folder = join(tmpdir(), 'nestjs-redis-rate-limit-migrate');
  const found = resolveFrom(process.cwd()) ?? resolveFrom(folder) ?? install(folder);
  const loaded = (await import(pathToFileURL(found).href)) as typeof TsMorph & { default?: typeof TsMorph };
  useTsMorph(loaded.default ?? loaded);
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
