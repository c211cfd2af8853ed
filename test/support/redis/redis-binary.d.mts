/**
 * Finds the server program: REDIS_SERVER_BIN, else `redis-server` or `valkey-server` on the PATH.
 *
 * @throws when REDIS_SERVER_BIN names no program
 */
export function findRedisBinary(): string | undefined;
