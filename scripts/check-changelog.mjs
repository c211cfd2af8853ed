// Fails if the report of the public API has changed since the merge base with main, and CHANGELOG.md has not. On main
// itself, compares with the commit before.
import { execFileSync } from 'node:child_process';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const head = git('rev-parse', 'HEAD');
const shared = git('merge-base', 'HEAD', 'origin/main');
const base = shared === head ? git('rev-parse', 'HEAD^') : shared;
const changed = git('diff', '--name-only', base, head).split('\n');
if (changed.includes('test/compiler/api-report.md') && !changed.includes('CHANGELOG.md')) {
  console.error(
    'The public API has changed (test/compiler/api-report.md): describe the change in CHANGELOG.md.',
  );
  process.exitCode = 1;
}
