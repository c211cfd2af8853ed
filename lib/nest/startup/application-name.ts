import { readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { APPLICATION } from '../../limiter/options.js';

/**
 * Returns the name in the nearest package.json of the program, which stays the same when its rules or its version change;
 * `undefined` if there is none. A program that is installed, such as a test runner, stands for the working directory.
 */
export function applicationName(
  program = process.argv[1],
  workingDirectory = process.cwd(),
): string | undefined {
  const isInstalled = program === undefined || program.split(sep).includes('node_modules');
  return (isInstalled ? undefined : nameAbove(dirname(program))) ?? nameAbove(workingDirectory);
}

function nameAbove(folder: string): string | undefined {
  const name = nameIn(folder);
  const parent = dirname(folder);
  return name ?? (parent === folder ? undefined : nameAbove(parent));
}

/** A package.json without a name, such as one that only sets the type of modules, is not that of the application. */
function nameIn(folder: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown };
    return APPLICATION.accepts(name) ? (name as string) : undefined;
  } catch {
    return undefined;
  }
}
