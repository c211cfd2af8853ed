import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Finds the server program: REDIS_SERVER_BIN, otherwise `redis-server` or `valkey-server` on the PATH.
 *
 * @returns {string | undefined}
 * @throws if REDIS_SERVER_BIN is not a program
 */
export function findRedisBinary() {
  const chosen = process.env.REDIS_SERVER_BIN;
  if (!chosen) return findProgram('redis-server') ?? findProgram('valkey-server');
  const found = chosen.includes('/') ? executable(chosen) : findProgram(chosen);
  if (!found) throw new Error(`REDIS_SERVER_BIN is ${chosen}, which is no program that can be run`);
  return found;
}

/**
 * Finds the server programs on the PATH besides the one of `findRedisBinary`, such as `valkey-server` or
 * `redis-server-6.2`, each once even if several links lead to it.
 *
 * @returns {string[]}
 */
export function findOtherBinaries() {
  const chosen = findRedisBinary();
  const seen = new Set(chosen && [realpathSync(chosen)]);
  const named = pathFolders()
    .filter(existsSync)
    .flatMap((folder) => {
      const names = readdirSync(folder).filter((name) =>
        /^(redis|valkey|keydb)-server(-[\d.]+)?$/.test(name),
      );
      return names.map((name) => join(folder, name)).filter(executable);
    });
  return named.filter((path) => {
    const target = realpathSync(path);
    return !seen.has(target) && seen.add(target);
  });
}

/**
 * Finds a program on the PATH.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function findProgram(name) {
  return pathFolders()
    .map((folder) => join(folder, name))
    .find(executable);
}

function pathFolders() {
  return (process.env.PATH ?? '').split(delimiter).filter(Boolean);
}

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}
