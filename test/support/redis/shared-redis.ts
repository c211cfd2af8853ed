import { randomBytes } from 'node:crypto';

/**
 * The URL of the server that all specs share. It may be the developer's own (TEST_REDIS_URL): never flush it, and use
 * only keys with a `uniquePrefix()`.
 */
export function redisUrl(): string {
  const url = process.env.TEST_REDIS_URL_ACTIVE;
  if (!url) throw new Error('No shared Redis server: run this under Jest, whose globalSetup starts one');
  return url;
}

/** Returns a key prefix that no other call returns, such as `t:6f1c09b2ad44:`, so that specs never share keys. */
export function uniquePrefix(): string {
  return `t:${randomBytes(6).toString('hex')}:`;
}
