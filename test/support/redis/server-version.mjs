import { Redis } from 'ioredis';

/**
 * Returns the name and version of a server, such as `Redis 7.0.15`.
 *
 * @param {string} url
 * @returns {Promise<string>}
 * @throws if no server replies there
 */
export async function serverVersion(url) {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: 5_000, retryStrategy: () => null });
  let reason;
  redis.on('error', (error) => (reason = error)); // The error of connect() contains less: only that the connection is closed.
  try {
    await redis.connect();
    const info = await redis.info('server');
    const valkey = /^valkey_version:(\S+)/m.exec(info);
    return valkey ? `Valkey ${valkey[1]}` : `Redis ${/^redis_version:(\S+)/m.exec(info)?.[1]}`;
  } catch (error) {
    throw new Error(`The Redis server does not answer: ${(reason ?? error).message}`, { cause: error });
  } finally {
    redis.disconnect();
  }
}
