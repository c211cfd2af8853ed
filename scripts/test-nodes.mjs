// Runs the specs of lib and the applications in memory on other versions of Node, which npm installs into .cache/, and on
// the last of them the contract and parity of the stores: node scripts/test-nodes.mjs 22 24 26
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const UNIT = ['--config', 'jest.unit.config.mjs'];
const STORES = ['test/contract/', 'test/parity/'];
const versions = process.argv.slice(2);
const program = `node-${process.platform}-${process.arch}`;
const env = { ...process.env, PARITY_STEPS: '2500' }; // Node 20 plays all of them.
const run = (command, args) => spawnSync(command, args, { stdio: 'inherit', env }).status === 0;

/** Installs a version of Node, and returns its program. */
function installed(version) {
  const folder = resolve('.cache/nodes', version);
  mkdirSync(folder, { recursive: true });
  const isThere = run('npm', [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefix',
    folder,
    `${program}@${version}`,
  ]);
  return isThere ? join(folder, 'node_modules', program, 'bin/node') : undefined;
}

function passes(version) {
  const node = installed(version);
  const runs = version === versions.at(-1) ? [UNIT, STORES] : [UNIT];
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  return (
    node !== undefined &&
    runs.every((args) => run(node, [...flags, 'node_modules/jest/bin/jest.js', ...args]))
  );
}

const failed = versions.filter((version) => !passes(version));
if (failed.length > 0) console.error(`Failed on Node ${failed.join(', ')}.`);
process.exitCode = failed.length > 0 || versions.length === 0 ? 1 : 0;
