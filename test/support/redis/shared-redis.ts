import { randomBytes } from 'node:crypto';
import { findRedisBinary } from './redis-binary.mjs';

/**
 * The URL of the server that all specs share. It may be the developer's own (TEST_REDIS_URL): never flush it,
 * keep to a `uniquePrefix()`.
 */
export function redisUrl(): string {
  const url = process.env.TEST_REDIS_URL_ACTIVE;
  if (!url) throw new Error('No shared Redis server: run this under Jest, whose globalSetup starts one');
  return url;
}

/** A key prefix that no other call returns, such as `t:6f1c09b2ad44:`, so that specs never meet. */
export function uniquePrefix(): string {
  return `t:${randomBytes(6).toString('hex')}:`;
}

/**
 * Whether a spec can start servers of its own: not when the shared one runs in Docker.
 *
 * @example (hasRedisBinary() ? describe : describe.skip)('a server that hangs', …)
 */
export function hasRedisBinary(): boolean {
  return findRedisBinary() !== undefined;
}
