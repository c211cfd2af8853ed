import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type * as TsMorph from 'ts-morph';
import { migrateDecorators } from './decorators.js';
import { isGuardProvider, migrateGuards } from './guards.js';
import { migrateModules } from './modules.js';
import { Source, THROTTLER, type Application } from './source.js';

/**
 * Moves the TypeScript files of a folder, or of a tsconfig.json, from `@nestjs/throttler` to this package.
 *
 * @param dry whether nothing is written
 * @returns the lines to print: each file that changes, and what is left alone in it
 */
export async function migrate(m: typeof TsMorph, path: string, dry: boolean): Promise<string[]> {
  const root = resolve(path);
  const project = open(m, root);
  const folder = statSync(root).isDirectory() ? root : dirname(root);
  project.manipulationSettings.set({ quoteKind: m.QuoteKind.Single });
  const files = project
    .getSourceFiles()
    .filter((file) => importsThrottler(file) && isWithin(folder, file.getFilePath()));
  if (files.length === 0) return [`${path}: no file imports ${THROTTLER}.`];
  const application = look(m, files);
  const lines: string[] = [];
  let left = 0;
  for (const file of files) {
    const source = new Source(m, file, application);
    const before = file.getFullText();
    for (const step of [migrateModules, migrateDecorators, migrateGuards]) step(source);
    source.finish();
    const isChanged = file.getFullText() !== before;
    if (isChanged) file.formatText({ indentSize: 2 });
    left += source.leftAlone.length;
    lines.push(`${isChanged ? 'changed' : 'unchanged'} ${relative(process.cwd(), file.getFilePath())}`);
    for (const each of source.leftAlone) lines.push(`  ${each}`);
  }
  if (!dry) await project.save();
  return [...lines, '', ...summary(files.length, left, dry)];
}

function summary(files: number, left: number, dry: boolean): string[] {
  const done = `Files with ${THROTTLER}: ${files}${dry ? ' (--dry: nothing is written)' : ''}. Left to you: ${left}.`;
  return [
    done,
    'Next: format the files, compile, and run `npm uninstall @nestjs/throttler`.',
    'docs/migration.md of nestjs-redis-rate-limit lists what changes.',
  ];
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
  return file.getImportDeclarations().some((each) => each.getModuleSpecifierValue() === THROTTLER);
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
  const literals = names.map((name) => (name ? literalOf(m, name) : 'default'));
  if (literals.length > 0 && !literals.includes(undefined)) application.names = new Set(literals as string[]);
  return application;
}

/** Whether an object is an element of a list with a ttl and a limit. */
function isThrottler(object: TsMorph.ObjectLiteralExpression): boolean {
  const isElement = object.getParent()?.getKindName() === 'ArrayLiteralExpression';
  return isElement && object.getProperty('ttl') !== undefined && object.getProperty('limit') !== undefined;
}

function literalOf(m: typeof TsMorph, property: TsMorph.Node): string | undefined {
  const value = m.Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
  return m.Node.isStringLiteral(value) ? value.getLiteralText() : undefined;
}
