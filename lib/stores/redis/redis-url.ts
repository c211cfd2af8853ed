import { shown, withoutPassword } from '../../contracts/shown.js';

export const REDIS_ALLOWED =
  'a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster';

/** Returns what is wrong with the URL of a Redis server. */
export function urlProblems(given: string): string[] {
  if (given === '') {
    return [
      'redis: got an empty string; write a redis:// or rediss:// URL, or leave `redis` undefined to count in the memory of each process',
    ];
  }
  const got = `redis: got ${JSON.stringify(withoutPassword(given))}`;
  if (!/^\w[\w+.-]*:\/\//.test(given) && /^[\w.-]+(:\d+)?(\/\d*)?$/.test(given)) {
    return [`${got}, which has no scheme; write "redis://${given}"`];
  }
  if (given.startsWith('/')) return [`${got}; write redis: { path: ${shown(given)} }`];
  if (!/^rediss?:\/\//.test(given) || !URL.canParse(given)) return [`${got}; allowed: ${REDIS_ALLOWED}`];
  const { hostname, pathname, searchParams } = new URL(given);
  if (hostname === '' || /^(undefined|null|nan)$/i.test(hostname)) {
    return [`${got}, which names no host; write "redis://host:6379"`];
  }
  if (!/^\/?\d*$/.test(pathname)) {
    return [`${got}, whose path is not the number of a database; write "redis://host:6379/0"`];
  }
  const db = searchParams.get('db');
  return db === null || /^\d+$/.test(db) ? [] : [`${got}, whose \`db\` is not the number of a database`];
}
