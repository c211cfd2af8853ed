/**
 * Finds the server program: REDIS_SERVER_BIN, else `redis-server` or `valkey-server` on the PATH.
 *
 * @throws when REDIS_SERVER_BIN names no program
 */
export function findRedisBinary(): string | undefined;

/**
 * Finds the server programs on the PATH besides the one of `findRedisBinary`, such as `valkey-server` or
 * `redis-server-6.2`, each once whatever links lead there.
 */
export function findOtherBinaries(): string[];
