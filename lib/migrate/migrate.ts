import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type * as TsMorph from 'ts-morph';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { migrateDecorators } from './decorators.js';
import { migrateGuards } from './guards.js';
import { migrateModules } from './modules.js';
import { limitsAfter, limitsBefore, type RouteLimits } from './limits.js';
import { classesIn, MARK, Source, THROTTLER, type Application } from './source.js';
import { UNKNOWN, rootsOf, sharedGuards, subclassesIn, throttlersOf } from './throttlers.js';
import { loadTsMorph, SyntaxKind, tsMorph } from './ts-morph.js';
import { isTest } from './constants.js';

/** How to migrate. */
export interface MigrateOptions {
  /** Whether nothing is written. */
  readonly dryRun: boolean;
  /** Whether files with uncommitted changes are written as well. */
  readonly force: boolean;
}

/**
 * Runs `migrate` with the arguments after its name. Returns the lines to print, and whether every route has the limits that
 * it had.
 *
 * @throws RateLimitConfigError if an argument is wrong
 */
export async function migrateCommand(args: readonly string[]) {
  const { path, ...options } = read(args);
  await loadTsMorph();
  return migrate(path, options);
}

function read(args: readonly string[]): MigrateOptions & { readonly path: string } {
  const known = ['--dry-run', '--force'];
  const unknown = args.find((each) => each.startsWith('-') && !known.includes(each));
  const paths = args.filter((each) => !each.startsWith('-'));
  if (unknown !== undefined)
    rejectConfig(`option of migrate: got "${unknown}"; allowed: ${known.join(', ')}`);
  if (paths.length > 1) rejectValue('paths', paths, 'one folder or tsconfig.json');
  const [path = '.'] = paths;
  return { dryRun: args.includes('--dry-run'), force: args.includes('--force'), path };
}

/**
 * Moves the TypeScript files of a folder, or of a tsconfig.json, from `@nestjs/throttler` to this package.
 *
 * @throws RateLimitConfigError if the path is wrong, or has uncommitted changes
 */
export async function migrate(path: string, { dryRun, force }: MigrateOptions) {
  const root = resolve(path);
  const project = open(root);
  const folder = statSync(root).isDirectory() ? root : dirname(root);
  if (!dryRun && !force) checkCommitted(folder, path);
  project.manipulationSettings.set({
    quoteKind: tsMorph.QuoteKind.Single,
    indentationText: tsMorph.IndentationText.TwoSpaces,
  });
  const all = project.getSourceFiles().filter((file) => isWithin(folder, file.getFilePath()));
  const sources = all.map((file) => new Source(file));
  const application = look(sources);
  const isFound = (source: Source): boolean =>
    namesThrottler(source.file) || classesIn(source).some((each) => application.guards.has(each));
  const found = sources.filter(isFound);
  const lines = unreached(project, folder);
  if (found.length + lines.length === 0)
    return { lines: [`${path}: no file imports ${THROTTLER}.`], isSame: true };
  const before = limitsBefore(sources);
  let left = lines.length;
  for (const source of found) {
    const { file } = source;
    const before = file.getFullText();
    const isCrlf = before.includes('\r\n');
    source.application = application;
    project.manipulationSettings.set({
      newLineKind: isCrlf ? tsMorph.NewLineKind.CarriageReturnLineFeed : tsMorph.NewLineKind.LineFeed,
    });
    for (const step of [migrateModules, migrateDecorators, migrateGuards]) step(source);
    source.finish();
    const isChanged = file.getFullText() !== before;
    left += source.leftAlone.length;
    lines.push(`${isChanged ? 'changed' : 'unchanged'} ${relative(process.cwd(), file.getFilePath())}`);
    for (const each of source.leftAlone) lines.push(`  ${each}`);
  }
  const table = tableOf(before, limitsAfter(sources));
  if (!dryRun) await project.save();
  const isSame = table.isSame && left === 0;
  const hasMarks = found.some(({ file }) => file.getFullText().includes(MARK));
  return {
    lines: [...lines, '', ...table.lines, '', summary(found.length, left, dryRun), ...next(isSame, hasMarks)],
    isSame,
  };
}

/** Names the files that use throttler and are not migrated: JavaScript, and those that the folder only imports. */
function unreached(project: TsMorph.Project, folder: string): string[] {
  const own = new Set(project.getSourceFiles().map((file) => file.getFilePath()));
  project.resolveSourceFileDependencies();
  const outside = project
    .getSourceFiles()
    .filter((file) => !file.isInNodeModules() && !isWithin(folder, file.getFilePath()))
    .filter((file) => !own.has(file.getFilePath()) && namesThrottler(file))
    .map((file) => file.getFilePath() as string);
  const host = project.getFileSystem();
  const { outDir = join(folder, 'dist') } = project.getCompilerOptions();
  const scripts = host
    .globSync([...patterns(folder, 'js,mjs,cjs,jsx'), `!${outDir}/**`])
    // compiled beside its source
    .filter((file) => !['ts', 'tsx'].some((each) => host.fileExistsSync(file.replace(/jsx?$/, each))))
    .filter((file) => host.readFileSync(file).includes(THROTTLER));
  const line = (file: string, why: string): string => `unchanged ${relative(process.cwd(), file)}\n  ${why}`;
  return [
    ...outside.map((file) =>
      line(file, `it imports ${THROTTLER} outside the folder; migrate one that has both`),
    ),
    ...scripts.map((file) => line(file, `it uses ${THROTTLER}, and is no TypeScript; change it by hand`)),
  ];
}

function patterns(folder: string, extensions: string): string[] {
  const glob = folder.replaceAll('\\', '/');
  return [`${glob}/**/*.{${extensions}}`, `!${glob}/**/node_modules/**`, `!${glob}/**/dist/**`];
}

function summary(files: number, left: number, dryRun: boolean): string {
  return `Files with ${THROTTLER}: ${files}${dryRun ? ' (--dry-run: nothing is written)' : ''}. Left to you: ${left}.`;
}

function next(isSame: boolean, hasMarks: boolean): string[] {
  const marks = hasMarks ? `, and replace each ${MARK}: until then the application does not compile` : '';
  return [
    isSame
      ? 'Every route has the limits that it had.'
      : `Compare what is listed above and the routes marked "!"${marks}.`,
    'Next: format the files, compile, and run `npm uninstall @nestjs/throttler`.',
    'docs/migration.md of nestjs-redis-rate-limit lists what changes.',
  ];
}

/** @throws RateLimitConfigError if a file of the folder has changes that git has not stored */
function checkCommitted(folder: string, path: string): void {
  const { status, stdout } = spawnSync('git', ['status', '--porcelain', '--', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0 || stdout.trim() === '') return; // no repository, or nothing to lose
  rejectConfig(`path: "${path}" has uncommitted changes; commit or stash them, or write --force`);
}

function open(path: string): TsMorph.Project {
  if (!existsSync(path))
    rejectConfig(`path: got "${path}"; allowed: a folder or a tsconfig.json that exists`);
  if (!statSync(path).isDirectory()) return projectOf(path);
  const config = configAbove(path);
  const project = new tsMorph.Project({
    skipAddingFilesFromTsConfig: true,
    ...(config !== undefined && { tsConfigFilePath: config }),
  });
  project.addSourceFilesAtPaths(patterns(path, 'ts,mts,cts,tsx'));
  return project;
}

/** The nearest configuration, which has the aliases of paths. */
function configAbove(folder: string): string | undefined {
  const names = ['tsconfig.json', 'tsconfig.base.json'];
  return names.map((name) => tsMorph.ts.findConfigFile(folder, existsSync, name)).find(Boolean);
}

/** @throws RateLimitConfigError if the file is not a tsconfig.json */
function projectOf(path: string): TsMorph.Project {
  try {
    return new tsMorph.Project({ tsConfigFilePath: path });
  } catch (error) {
    rejectConfig(`path: got "${path}": ${(error as Error).message}; allowed: a folder or a tsconfig.json`);
  }
}

/** Whether a file is in a folder, and not reached through a link that leads out of it. */
function isWithin(folder: string, file: string): boolean {
  const path = relative(realpathSync(folder), realpathSync(file));
  return !path.startsWith('..') && !isAbsolute(path);
}

/** Whether a file names throttler, or sets its metadata. */
function namesThrottler(file: TsMorph.SourceFile): boolean {
  return /['"]@nestjs\/throttler['"/]|['"`]THROTTLER:/.test(file.getFullText());
}

/** Whether an object literal of a file has a `getTracker`. */
function hasTracker(file: TsMorph.SourceFile): boolean {
  const objects = file.getDescendantsOfKind(SyntaxKind.ObjectLiteralExpression);
  const texts = objects.flatMap((each) => each.getProperties().map((property) => property.getText()));
  return texts.some((text) => /^(async )?['"[]*getTracker\b/.test(text));
}

/** Collects the facts about the application that one file cannot show. */
function look(sources: readonly Source[]): Application {
  const roots = rootsOf(sources, 'ThrottlerModule');
  const names = roots.flatMap(({ source, call }) => throttlersOf(source, call).map(([name]) => name));
  return {
    roots: roots.length,
    guards: new Set(sources.flatMap((source) => subclassesIn(source, 'ThrottlerGuard'))),
    sharedGuards: sharedGuards(sources),
    hasTrackers: sources.some(({ file }) => !isTest(file) && hasTracker(file)),
    names: names.length === 0 || names.includes(UNKNOWN) ? undefined : new Set(names),
  };
}

/** Returns a table of the routes, and whether each has the same limits as before, all of them known. */
function tableOf(before: RouteLimits, after: RouteLimits) {
  const labels = [...before.keys()].map((key) => key.split(' ')[0]!);
  const routes = Array.from(before, ([key, limits], index) => {
    const label = labels[index]!;
    const isAlone = labels.indexOf(label) === labels.lastIndexOf(label);
    const now = after.get(key) ?? UNKNOWN;
    return [isAlone ? label : key, limits, now, noteOn(limits, now)] as const;
  });
  const rows = [['route', 'before', 'after', ''] as const, ...routes];
  const [first, second] = [0, 1].map((column) => Math.max(6, ...rows.map((row) => row[column]!.length)));
  const lines = rows.map(
    ([route, one, other, note]) => `  ${route.padEnd(first!)}  ${one.padEnd(second!)}  ${other}${note}`,
  );
  return { lines, isSame: routes.every(([, , , note]) => note === '') };
}

function noteOn(before: string, after: string): string {
  if (before !== after) return '   ! differs';
  return before.includes(UNKNOWN) ? '   ! not known' : '';
}
