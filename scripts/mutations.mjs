// Plants faults one by one in a copy of the repository (test/mutations), and runs the specs that should find each, then the
// inner loop. Fails if a fault is found by neither.
//
//   npm run mutations                        all faults
//   npm run mutations -- --part=guard        those of one part
//   npm run mutations -- --specs-only        without the inner loop
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PLANTED_FAULTS } from '../test/mutations/planted-faults.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const part = process.argv.find((each) => each.startsWith('--part='))?.slice('--part='.length);
const isSpecsOnly = process.argv.includes('--specs-only');
const faults = PLANTED_FAULTS.filter((fault) => part === undefined || fault.part === part);

const copy = mkdtempSync(join(tmpdir(), 'mutations-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(1));
cpSync(root, copy, {
  recursive: true,
  filter: (path) => !/[/\\](node_modules|[.]git|[.]cache|dist)$/.test(path),
});
for (const each of ['node_modules', 'dist', '.cache']) symlinkSync(join(root, each), join(copy, each));

/** Whether some specs pass in the copy. */
function passes(...flags) {
  const limits = ['--bail', '--testTimeout=20000', '--env=<rootDir>/test/mutations/first-failure.mjs'];
  const args = ['run', '--silent', 'jest', '--', '--silent', ...limits, ...flags];
  return spawnSync('npm', args, { cwd: copy, stdio: 'ignore' }).status === 0;
}

const results = [];
for (const [nth, { words, part: of, file, text, by, specs }] of faults.entries()) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(text).length !== 2) throw new Error(`${file}: the text of "${words}" is not once in it`);
  writeFileSync(
    path,
    source.replace(text, () => by),
  );
  const startedAt = performance.now();
  const isFound = !passes(...specs);
  const isInLoop = !isSpecsOnly && !passes('--config', 'jest.unit.config.mjs');
  writeFileSync(path, source);
  results.push({ words, isFound, isInLoop });
  const finders = [isFound && 'its specs', isInLoop && 'the inner loop'].filter(Boolean).join(' and ');
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`${nth + 1}/${faults.length} ${of}: ${words}: ${finders || 'NOT FOUND'} (${seconds} s)`);
}

const missed = results.filter(({ isFound, isInLoop }) => !isFound && !isInLoop);
const inLoop = results.filter(({ isInLoop }) => isInLoop).length;
const loop = isSpecsOnly ? '' : `, ${inLoop} by the inner loop`;
console.log(`${results.length - missed.length} of ${results.length} faults found${loop}`);
process.exitCode = missed.length > 0 ? 1 : 0;
