import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Finds the server program: REDIS_SERVER_BIN, else `redis-server` or `valkey-server` on the PATH.
 *
 * @returns {string | undefined}
 * @throws when REDIS_SERVER_BIN names no program
 */
export function findRedisBinary() {
  const chosen = process.env.REDIS_SERVER_BIN;
  if (!chosen) return findProgram('redis-server') ?? findProgram('valkey-server');
  const found = chosen.includes('/') ? executable(chosen) : findProgram(chosen);
  if (!found) throw new Error(`REDIS_SERVER_BIN is ${chosen}, which is no program that can be run`);
  return found;
}

/**
 * Finds a program on the PATH.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function findProgram(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(executable);
}

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}
