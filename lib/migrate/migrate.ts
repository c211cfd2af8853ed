import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type * as TsMorph from 'ts-morph';
import { valueOf } from './constants.js';
import { migrateDecorators } from './decorators.js';
import { isGuardProvider, migrateGuards } from './guards.js';
import { migrateModules } from './modules.js';
import { limitsAfter, limitsBefore, tableOf } from './limits.js';
import { MARK, Source, THROTTLER, type Application } from './source.js';

/** How to migrate. */
export interface MigrateOptions {
  /** Whether nothing is written. */
  readonly dryRun: boolean;
  /** Whether files with uncommitted changes are written as well. */
  readonly force: boolean;
}

/** The lines to print, and whether every route has the limits that it had. */
export interface Migration {
  readonly lines: readonly string[];
  readonly isSame: boolean;
}

/**
 * Moves the TypeScript files of a folder, or of a tsconfig.json, from `@nestjs/throttler` to this package.
 *
 * @throws Error with `problems` if the path is wrong, or has uncommitted changes
 */
export async function migrate(
  m: typeof TsMorph,
  path: string,
  { dryRun, force }: MigrateOptions,
): Promise<Migration> {
  const root = resolve(path);
  const project = open(m, root);
  const folder = statSync(root).isDirectory() ? root : dirname(root);
  if (!dryRun && !force) checkCommitted(folder, path);
  project.manipulationSettings.set({
    quoteKind: m.QuoteKind.Single,
    indentationText: m.IndentationText.TwoSpaces,
  });
  const all = project.getSourceFiles().filter((file) => isWithin(folder, file.getFilePath()));
  const files = all.filter(importsThrottler);
  if (files.length === 0) return { lines: [`${path}: no file imports ${THROTTLER}.`], isSame: true };
  const application = look(m, files);
  const sources = all.map((file) => new Source(m, file, application));
  const before = limitsBefore(sources);
  const lines: string[] = [];
  let left = 0;
  for (const file of files) {
    const source = new Source(m, file, application);
    const before = file.getFullText();
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
  return {
    lines: [...lines, '', ...table.lines, '', ...summary(files.length, left, dryRun, isSame)],
    isSame,
  };
}

function summary(files: number, left: number, dryRun: boolean, isSame: boolean): string[] {
  const done = `Files with ${THROTTLER}: ${files}${dryRun ? ' (--dry-run: nothing is written)' : ''}. Left to you: ${left}.`;
  return [
    done,
    isSame
      ? 'Every route has the limits that it had.'
      : `Compare the routes marked "!", and replace each ${MARK}: until then the application does not compile.`,
    'Next: format the files, compile, and run `npm uninstall @nestjs/throttler`.',
    'docs/migration.md of nestjs-redis-rate-limit lists what changes.',
  ];
}

/** @throws Error with `problems` if a file of the folder has changes that git has not stored */
function checkCommitted(folder: string, path: string): void {
  const { status, stdout } = spawnSync('git', ['status', '--porcelain', '--', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0 || stdout.trim() === '') return; // no repository, or nothing to lose
  const problem = `path: "${path}" has uncommitted changes; commit or stash them, or write --force`;
  throw Object.assign(new Error(problem), { problems: [problem] });
}

function open(m: typeof TsMorph, path: string): TsMorph.Project {
  if (!existsSync(path)) {
    throw wrongPath(path, 'a folder or a tsconfig.json that exists');
  }
  if (!statSync(path).isDirectory()) return projectOf(m, path);
  const config = join(path, 'tsconfig.json');
  const settings = { skipAddingFilesFromTsConfig: true };
  const project = new m.Project(existsSync(config) ? { ...settings, tsConfigFilePath: config } : settings);
  const glob = path.replaceAll('\\', '/');
  project.addSourceFilesAtPaths([
    `${glob}/**/*.{ts,mts,cts}`,
    `!${glob}/**/node_modules/**`,
    `!${glob}/**/dist/**`,
  ]);
  return project;
}

/** @throws Error with `problems` if the file is not a tsconfig.json */
function projectOf(m: typeof TsMorph, path: string): TsMorph.Project {
  try {
    return new m.Project({ tsConfigFilePath: path });
  } catch (error) {
    throw wrongPath(path, 'a folder or a tsconfig.json', (error as Error).message);
  }
}

/** Returns an error whose `problems` are printed without a stack. */
function wrongPath(path: string, allowed: string, reason?: string): Error {
  const problem = `path: got "${path}"${reason === undefined ? '' : `: ${reason}`}; allowed: ${allowed}`;
  return Object.assign(new Error(problem), { problems: [problem] });
}

/** Whether a file is in a folder, and not reached through a link that leads out of it. */
function isWithin(folder: string, file: string): boolean {
  const path = relative(realpathSync(folder), realpathSync(file));
  return !path.startsWith('..') && !isAbsolute(path);
}

function importsThrottler(file: TsMorph.SourceFile): boolean {
  const declarations = [...file.getImportDeclarations(), ...file.getExportDeclarations()];
  return declarations.some((each) => each.getModuleSpecifierValue() === THROTTLER);
}

/** Collects the facts about the application that one file cannot show. */
function look(m: typeof TsMorph, files: readonly TsMorph.SourceFile[]): Application {
  const application: Application = { names: undefined, hasGlobalGuard: false };
  const sources = files.map((file) => new Source(m, file, application));
  const objects = sources.flatMap((source) =>
    source.file
      .getDescendantsOfKind(m.SyntaxKind.ObjectLiteralExpression)
      .map((object) => ({ source, object })),
  );
  application.hasGlobalGuard = objects.some(({ source, object }) => isGuardProvider(source, object));
  const throttlers = objects.filter(({ object }) => isThrottler(object));
  const names = throttlers.map(({ object }) => object.getProperty('name'));
  const literals = names.map((name) => (name ? nameIn(m, name) : 'default'));
  if (literals.length > 0 && !literals.includes(undefined)) application.names = new Set(literals as string[]);
  return application;
}

/** Whether an object is an element of a list with a ttl and a limit. */
function isThrottler(object: TsMorph.ObjectLiteralExpression): boolean {
  const isElement = object.getParent()?.getKindName() === 'ArrayLiteralExpression';
  return isElement && object.getProperty('ttl') !== undefined && object.getProperty('limit') !== undefined;
}

function nameIn(m: typeof TsMorph, property: TsMorph.Node): string | undefined {
  const value = valueOf(m, m.Node.isPropertyAssignment(property) ? property.getInitializer() : undefined);
  return typeof value === 'string' ? value : undefined;
}
