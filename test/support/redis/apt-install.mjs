import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findProgram } from './redis-binary.mjs';

/**
 * Installs redis-server on Debian or Ubuntu, for root or with a sudo that asks no password.
 *
 * @returns {boolean} whether it did; false also where it may not try
 */
export function installWithApt() {
  const prefix = rootPrefix();
  if (!findProgram('apt-get') || !prefix) return false;
  console.log('No Redis server found: installing redis-server with apt-get.');
  const script = fileURLToPath(new URL('apt-install.sh', import.meta.url));
  const [program, ...args] = [...prefix, 'sh', script];
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) console.error(`apt-get could not install it: ${stderr.trim()}`);
  return status === 0;
}

/** What to put before a command to run it as root, or undefined when that takes a password. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return spawnSync('sudo', ['-n', 'true']).status === 0 ? ['sudo', '-n'] : undefined;
}
