import { unpackDebianServer } from './redis/debian-server.mjs';
import { findProgram } from './redis/redis-binary.mjs';

/**
 * Returns the program `promtool` of Prometheus: of the PATH, or of its Debian package.
 *
 * @returns {string}
 * @throws Error if this machine has neither
 */
export function promtool() {
  return findProgram('promtool') ?? unpackDebianServer({ package: 'prometheus', program: 'promtool' });
}
