import { existsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
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
  const project = open(m, resolve(path));
  project.manipulationSettings.set({ quoteKind: m.QuoteKind.Single });
  const files = project.getSourceFiles().filter((file) => importsThrottler(file));
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
  if (!existsSync(path)) throw new Error(`${path}: no such folder or file`);
  if (!statSync(path).isDirectory()) return new m.Project({ tsConfigFilePath: path });
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
