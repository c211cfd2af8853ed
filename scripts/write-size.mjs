// Writes the size of the package into README.md, between its markers, as the last build has it.
//
//   node scripts/write-size.mjs           writes the line
//   node scripts/write-size.mjs --check   fails if a number in the line is off by more than 5 %
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';

const root = fileURLToPath(new URL('..', import.meta.url));
const README = `${root}README.md`;
const TOLERANCE = 0.05;
const LINE = /(<!-- size -->).*(<!-- \/size -->)/s;

const run = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: 'utf8' });
const manifest = (path) => JSON.parse(readFileSync(`${root}${path}package.json`, 'utf8'));

/** The bytes that an application with one rule loads, which counts in memory. */
function loaded() {
  const program = `
    require('reflect-metadata');
    const { Module } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    const { RateLimitModule } = require('./dist/cjs/index.js');
    class App {}
    Module({ imports: [RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 9 } } })] })(App);
    NestFactory.createApplicationContext(App, { logger: false })
      .then((app) => app.close())
      .then(() => console.log(JSON.stringify(Object.keys(require.cache))));`;
  const files = JSON.parse(run(process.execPath, '--eval', program));
  return files
    .filter((file) => file.startsWith(`${root}dist/`))
    .reduce((sum, file) => sum + statSync(file).size, 0);
}

const [{ size: packed }] = JSON.parse(run('npm', 'pack', '--dry-run', '--json', '--ignore-scripts'));
const dependencies = Object.keys(manifest('').dependencies);
const further = dependencies.flatMap((name) =>
  Object.keys(manifest(`node_modules/${name}/`).dependencies ?? {}),
);
const measured = [packed / 1000, loaded() / 1000, dependencies.length, further.length].map(Math.round);

const text = readFileSync(README, 'utf8');
if (process.argv.includes('--check')) {
  const written = (LINE.exec(text)?.[0].match(/\d+/g) ?? []).map(Number);
  const isOff = (number, index) => !(Math.abs(written[index] - number) <= number * TOLERANCE);
  if (measured.some(isOff)) {
    console.error(`README.md has the sizes ${written.join(', ')}; measured: ${measured.join(', ')}`);
    console.error('Run npm run size.');
    process.exitCode = 1;
  }
} else {
  const [tarball, code, direct, indirect] = measured;
  const line = `${tarball} kB packed, ${code} kB loaded to count in memory, ${direct} ${direct === 1 ? 'dependency' : 'dependencies'} with ${indirect} of ${direct === 1 ? 'its' : 'their'} own`;
  const options = { ...(await prettier.resolveConfig(README)), filepath: README };
  const written = text.replace(LINE, (_, start, end) => `${start}${line}${end}`);
  writeFileSync(README, await prettier.format(written, options));
}
