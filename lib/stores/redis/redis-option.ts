import type { RedisOptions } from 'ioredis';
import { closestRedisOption, isRedisOption } from './redis-option-names.js';

/** An ioredis client or Cluster that the user owns. It is duplicated, never changed and never closed. */
export interface UserRedisClient {
  readonly isCluster?: boolean;
  readonly options?: object;
  duplicate(...args: never[]): unknown;
}

/** Where Redis is: a `redis://` or `rediss://` URL, ioredis options, or a client or Cluster you own. */
export type RedisConnection = string | RedisOptions | UserRedisClient;

export const REDIS_ALLOWED =
  'a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster';

/** Methods that clients of Redis have, and options have not. */
const CLIENT_METHODS = ['sendCommand', 'send_command', 'customCommand', 'quit', 'disconnect', 'duplicate'];

/** What an ioredis client has, and others have not all of. */
const IOREDIS_METHODS = ['duplicate', 'defineCommand', 'disconnect'];

const CLUSTER_NAMES = ['nodes', 'startupNodes', 'rootNodes', 'redisOptions', 'clusterRetryStrategy'];

/** Says what is wrong with the option `redis`, as far as that shows without a connection; never a password. */
export function redisProblems(value: unknown): string[] {
  if (typeof value === 'string') return urlProblems(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [`redis: got ${JSON.stringify(value) ?? String(value)}; allowed: ${REDIS_ALLOWED}`];
  }
  if (isUserClient(value)) return [];
  if (has(value, CLIENT_METHODS, 'some')) {
    const name = value.constructor?.name || 'Object';
    return [
      `redis: got a client that is not made by ioredis (${name}); allowed: ${REDIS_ALLOWED}. Write its URL: redis: "redis://host:6379".`,
    ];
  }
  return optionsProblems(value as Record<string, unknown>);
}

/** Whether a value is an ioredis client or Cluster. */
export function isUserClient(redis: object): redis is UserRedisClient {
  return has(redis, IOREDIS_METHODS, 'every');
}

/** Whether the options say where Redis is. */
export function isRedisConnection(value: unknown): value is RedisConnection {
  return redisProblems(value).length === 0;
}

function has(value: object, methods: readonly string[], which: 'some' | 'every'): boolean {
  return methods[which]((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

function urlProblems(given: string): string[] {
  if (given === '') {
    return [
      'redis: got an empty string; write a redis:// or rediss:// URL, or leave `redis` undefined to count in the memory of each process',
    ];
  }
  const shown = `redis: got ${JSON.stringify(withoutPassword(given))}`;
  if (!/^\w[\w+.-]*:\/\//.test(given) && /^[\w.-]+(:\d+)?(\/\d*)?$/.test(given)) {
    return [`${shown}, which has no scheme; write "redis://${given}"`];
  }
  if (given.startsWith('/')) return [`${shown}; write redis: { path: ${JSON.stringify(given)} }`];
  if (!/^rediss?:\/\//.test(given) || !URL.canParse(given)) return [`${shown}; allowed: ${REDIS_ALLOWED}`];
  const { hostname, pathname } = new URL(given);
  if (hostname === '' || /^(undefined|null|nan)$/i.test(hostname)) {
    return [`${shown}, which names no host; write "redis://host:6379"`];
  }
  if (/^\/?\d*$/.test(pathname)) return [];
  return [`${shown}, whose path is not the number of a database; write "redis://host:6379/0"`];
}

function optionsProblems(options: Record<string, unknown>): string[] {
  const { url, socket } = options;
  if (typeof url === 'string') {
    const shown = JSON.stringify(withoutPassword(url));
    return [`redis.url: no option of ioredis; write redis: ${shown} instead of redis: { url: … }`];
  }
  if (typeof socket === 'object') {
    return ['redis.socket: no option of ioredis; write redis: { host: "…", port: 6379 } without `socket`'];
  }
  if (CLUSTER_NAMES.some((name) => name in options)) {
    return [
      'redis: got options of a Cluster; write redis: new Cluster(nodes, options), with Cluster of ioredis',
    ];
  }
  const unknown = Object.keys(options).filter((name) => !isRedisOption(name));
  const problems = unknown.map((name) => {
    const closest = closestRedisOption(name);
    return `redis.${name}: no option of ioredis${closest ? `; did you mean "${closest}"?` : ''}`;
  });
  return problems.length > 0 ? problems : placeProblems(options);
}

/** Options that name no server would lead to localhost:6379. */
function placeProblems({ host, port, path, sentinels, Connector }: RedisOptions): string[] {
  const problems: string[] = [];
  if (host !== undefined && (typeof host !== 'string' || host === '')) {
    problems.push(`redis.host: got ${JSON.stringify(host)}; allowed: the name or address of a host`);
  }
  if (port !== undefined && !isPort(port)) {
    problems.push(`redis.port: got ${String(port)}; allowed: an integer from 1 to 65535`);
  }
  const isNowhere = [host, port, path, Connector].every((value) => value === undefined) && !sentinels?.length;
  if (isNowhere) problems.push('redis: names no server; write redis: { host: "…", port: 6379 }');
  return problems;
}

function isPort(port: unknown): boolean {
  const number = typeof port === 'string' && /^\d+$/.test(port) ? Number(port) : port;
  return Number.isInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
}

/** A text with what may be a password in it taken out. */
export function withoutPassword(text: string): string {
  return text.replace(/^(\w[\w+.-]*:\/\/)?.*@/s, '$1***@').replace(/(password=)[^&]*/gi, '$1***');
}
