import { textOf } from '../readme/code-blocks.js';
import { askServer } from '../support/redis/ask-server.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';

/** The user in docs/operations.md, and the additional rights on a cluster. */
const [access = ''] = /## Access\n[^]*?End of access/.exec(textOf('docs/operations.md')) ?? [];
export const [, user = ''] = /^(user limiter .*)$/m.exec(access) ?? [];
export const [, CLUSTER_RIGHTS = ''] = /On Cluster, add `([^`]+)`/.exec(access) ?? [];

/** Rights for scripts, for connecting, and for changes by other processes. */
export const CLIENT_RIGHTS = ['+evalsha', '+eval', '+info', '+ping', '+subscribe', '+unsubscribe'];
export const FUNCTION_RIGHTS = ['+fcall', '+function|load', '+function|list', '+function|delete'];

export const USER = user.replaceAll('rl:', 't:');
export const credentials = { username: 'limiter', password: 'secret' };

/** The commands, keys and channels that servers have rejected. */
export async function refusals(...servers: RedisServer[]): Promise<unknown[]> {
  const logs = await Promise.all(servers.map((server) => askServer(server, 'ACL', 'LOG')));
  const objects = (logs.flat() as unknown[][]).map((fields) => fields[fields.indexOf('object') + 1]);
  return objects.filter((object) => !String(object).startsWith('client|')); // The commands with which ioredis sends its name.
}
