/**
 * Finds the server program: REDIS_SERVER_BIN, otherwise `redis-server` or `valkey-server` on the PATH.
 *
 * @throws if REDIS_SERVER_BIN is not a program
 */
export function findRedisBinary(): string | undefined;

/**
 * Finds the server programs on the PATH besides the one of `findRedisBinary`, such as `valkey-server` or
 * `redis-server-6.2`, each once even if several links lead to it.
 */
export function findOtherBinaries(): string[];
