import { parseArgs } from 'node:util';
import { loadTsMorph } from './load-ts-morph.js';
import { migrate } from './migrate.js';

/**
 * Runs `migrate` with the arguments after its name.
 *
 * @returns the text to print; `undefined` if there are too many arguments
 */
export async function migrateCommand(args: readonly string[]): Promise<string | undefined> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { dry: { type: 'boolean', default: false } },
  });
  const [path = '.', ...others] = positionals;
  if (others.length > 0) return undefined;
  return (await migrate(await loadTsMorph(), path, values.dry)).join('\n');
}
