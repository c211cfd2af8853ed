import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.js';
import { packageRoot } from './tarball.js';

jest.setTimeout(300_000);

const PROGRAM = join(packageRoot, 'test/packaging/every-algorithm.cjs');
const EXPECTED = {
  early: true,
  statuses: [200, 200, 429],
  programs: [true, false],
  held: true,
  cells: true,
};

/** Packages that Nest requires if they are installed. */
const OPTIONAL = /^(@nestjs[/](microservices|websockets)|class-transformer|class-validator)/;

const folder = mkdtempSync(join(packageRoot, 'dist/.bundles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The built files of a format by the names of the package's entries. */
const aliases = (format: string): Record<string, string> =>
  Object.fromEntries(
    ['/limiter', ''].map((entry) => [
      `nestjs-redis-rate-limit${entry}`,
      join(packageRoot, 'dist', format, `${entry.slice(1) || 'index'}.js`),
    ]),
  );

async function withEsbuild(format: string): Promise<string> {
  const outfile = join(folder, `esbuild-${format}.cjs`);
  const program = `
    require('esbuild').buildSync({
      entryPoints: [${JSON.stringify(PROGRAM)}], outfile: ${JSON.stringify(outfile)},
      bundle: true, platform: 'node', logLevel: 'error', alias: ${JSON.stringify(aliases(format))},
      external: ['@nestjs/microservices', '@nestjs/websockets', 'class-transformer', 'class-validator'],
    })`;
  await runCommand(packageRoot, process.execPath, '--eval', program);
  return outfile;
}

async function withWebpack(format: string): Promise<string> {
  const filename = `webpack-${format}.cjs`;
  const program = `
    const { webpack, IgnorePlugin } = require('webpack');
    webpack({
      mode: 'production', target: 'node', entry: ${JSON.stringify(PROGRAM)}, optimization: { minimize: false },
      output: { path: ${JSON.stringify(folder)}, filename: ${JSON.stringify(filename)}, chunkFilename: 'w-${format}-[id].cjs' },
      resolve: { alias: ${JSON.stringify(Object.fromEntries(Object.entries(aliases(format)).map(([name, file]) => [`${name}$`, file])))} },
      plugins: [new IgnorePlugin({ resourceRegExp: ${String(OPTIONAL)} })],
    }, (error, stats) => {
      if (error || stats.hasErrors()) { console.error(error ?? stats.toString('errors-only')); process.exit(1); }
    })`;
  await runCommand(packageRoot, process.execPath, '--eval', program);
  return join(folder, filename);
}

describe.each(['cjs', 'esm'])('an application that bundles the %s build', (format) => {
  it.each([
    ['webpack, without externals', withWebpack],
    ['esbuild, as one file', withEsbuild],
  ] as const)('limits with the algorithms that it names anywhere: %s', async (_name, bundle) => {
    const file = await bundle(format);
    const printed = await runCommand(folder, process.execPath, file);
    expect(JSON.parse(printed.trim().split('\n').at(-1)!)).toEqual(EXPECTED);
  });
});
