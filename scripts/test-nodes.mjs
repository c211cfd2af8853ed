// Runs the specs of lib and the applications in memory on other versions of Node, which npm installs into .cache/:
// node scripts/test-nodes.mjs 22 26
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const program = `node-${process.platform}-${process.arch}`;
const run = (env, ...args) =>
  spawnSync('npm', args, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;

function passes(version) {
  const folder = resolve('.cache/nodes', version);
  mkdirSync(folder, { recursive: true });
  const options = ['--no-save', '--no-audit', '--no-fund', '--prefix', folder];
  if (!run({}, 'install', ...options, `${program}@${version}`)) return false;
  const PATH = [join(folder, 'node_modules', program, 'bin'), process.env.PATH].join(delimiter);
  return run({ PATH }, 'run', 'test:unit');
}

const versions = process.argv.slice(2);
const failed = versions.filter((version) => !passes(version));
if (failed.length > 0) console.error(`Failed on Node ${failed.join(', ')}.`);
process.exitCode = failed.length > 0 || versions.length === 0 ? 1 : 0;
