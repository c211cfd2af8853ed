import { loadTsMorph } from './load-ts-morph.js';
import { migrate } from './migrate.js';

/**
 * Runs `migrate` with the arguments after its name.
 *
 * @returns the text to print, and whether every route has the limits that it had
 * @throws Error with `problems` if an argument is wrong
 */
export async function migrateCommand(args: readonly string[]): Promise<{ text: string; isSame: boolean }> {
  const { dryRun, force, paths } = read(args);
  const { lines, isSame } = await migrate(await loadTsMorph(), paths[0] ?? '.', { dryRun, force });
  return { text: lines.join('\n'), isSame };
}

function read(args: readonly string[]) {
  const known = ['--dry-run', '--force'];
  const wrong = args.find((each) => each.startsWith('-') && !known.includes(each));
  const paths = args.filter((each) => !each.startsWith('-'));
  const problems = [
    ...(wrong === undefined ? [] : [`option of migrate: got "${wrong}"; allowed: ${known.join(', ')}`]),
    ...(paths.length > 1
      ? [`paths: got ${JSON.stringify(paths)}; allowed: one folder or tsconfig.json`]
      : []),
  ];
  if (problems.length > 0) throw Object.assign(new Error(problems.join('; ')), { problems });
  return { dryRun: args.includes('--dry-run'), force: args.includes('--force'), paths };
}
