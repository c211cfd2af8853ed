import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from './run-command.js';

export const packageRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Packs the build into a separate folder. Without `prepack`, which builds anew. */
export async function packTarball(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  await runCommand(packageRoot, 'npm', 'pack', '--ignore-scripts', '--pack-destination', folder);
  const [name] = await readdir(folder);
  return join(folder, name!);
}

/** Returns the paths of the files in a tarball, relative to the package's folder. */
export async function filesIn(tarball: string): Promise<string[]> {
  const list = await runCommand(packageRoot, 'tar', '-tzf', tarball);
  return list
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
}

/** Returns the size of all files in a tarball together, in bytes. */
export async function unpackedSize(tarball: string): Promise<number> {
  const list = await runCommand(packageRoot, 'tar', '-tzvf', tarball);
  const sizes = list
    .trim()
    .split('\n')
    .map((line) => Number(line.trim().split(/\s+/)[2]));
  return sizes.reduce((sum, size) => sum + size, 0);
}
