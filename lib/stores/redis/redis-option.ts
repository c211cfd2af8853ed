import { shown, withoutPassword } from '../../contracts/shown.js';
import { isIPv6 } from 'node:net';
import { type RedisConnectionOptions, closestRedisOption, isRedisOption } from './redis-option-names.js';
import { integer, type OptionCheck } from '../../contracts/options.js';
import { problem } from '../../contracts/rate-limit-config.error.js';

const REDIS_ALLOWED =
  'a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster';

/** Matches the text of a variable that is not set, in place of a host. */
const NO_HOST = /^(undefined|null|nan)(?=:|$)/i;

/** Returns what is wrong with the URL of a Redis server. */
function urlProblem(given: string): string | undefined {
  if (given === '')
    return 'redis: got an empty string; write a redis:// or rediss:// URL, or leave `redis` undefined to count in the memory of each process';
  const got = `redis: got ${JSON.stringify(withoutPassword(given))}`;
  if (NO_HOST.test(given)) return `${got}, which names no host; write "redis://host:6379"`;
  if (!/^\w[\w+.-]*:\/\//.test(given) && /^[\w.-]+(:\d+)?(\/\d*)?$/.test(given))
    return `${got}, which has no scheme; write "redis://${given}"`;
  if (given.startsWith('/')) return `${got}; write redis: { path: ${shown(given)} }`;
  const [scheme] = /^rediss?:\/\//.exec(given) ?? [];
  if (scheme === undefined) return `${got}; allowed: ${REDIS_ALLOWED}`;
  if (!URL.canParse(given))
    return `${got}, which is not a URL; write "${scheme}user:password@host:6379", with a number as the port and the password encoded by encodeURIComponent`;
  const { hostname, pathname, searchParams } = new URL(given);
  if (hostname === '' || NO_HOST.test(hostname))
    return `${got}, which names no host; write "${scheme}host:6379"`;
  if (!/^\/?\d*$/.test(pathname))
    return `${got}, whose path is not the number of a database; write "${scheme}host:6379/0"`;
  const db = searchParams.get('db');
  return db === null || /^\d+$/.test(db) ? undefined : `${got}, whose \`db\` is not the number of a database`;
}

/** The parts of an address in ioredis options: with other values, ioredis would connect to localhost:6379, or not at all. */
const ADDRESS = {
  host: {
    allowed: 'the name or address of a host',
    accepts: (host) => typeof host === 'string' && (isIPv6(host) || /^[^\s:/?#@]+$/.test(host)),
  },
  port: integer(1, 65_535),
  path: { allowed: 'the path of a unix socket', accepts: (socket) => !String(socket).includes('://') },
  db: integer(0),
} satisfies Record<string, OptionCheck>;

function addressProblems(path: string, options: RedisConnectionOptions): string[] {
  const partProblems = (of: string, name: keyof typeof ADDRESS, value: unknown): string[] => {
    const { allowed, accepts, read }: OptionCheck = ADDRESS[name];
    if (value === undefined || accepts(read ? read(value) : value)) return [];
    return [`${of}.${name}: got ${shown(value)}; ${fixOf(value, allowed)}`];
  };
  const names = Object.keys(ADDRESS) as (keyof typeof ADDRESS)[];
  return [
    ...names.flatMap((name) => partProblems(path, name, options[name])),
    ...(options.sentinels ?? []).flatMap(({ host }, at) =>
      partProblems(`${path}.sentinels[${at}]`, 'host', host),
    ),
    ...[sentinelProblem(path, options) ?? []].flat(),
  ];
}

/** Returns what is wrong with options for Sentinel, with which ioredis would fail when it connects. */
function sentinelProblem(path: string, options: RedisConnectionOptions): string | undefined {
  const { sentinels, name, host, port } = options;
  if (sentinels?.length === 0 && (host !== undefined || port !== undefined))
    return `${path}.sentinels: got []; allowed: at least one, or leave it out`;
  if (!sentinels?.length || (typeof name === 'string' && name !== '')) return undefined;
  const given = name === undefined ? 'missing' : `got ${shown(name)}`;
  return `${path}.name: ${given}; allowed: the name of the master that the Sentinels monitor`;
}

function fixOf(given: unknown, allowed: string): string {
  if (typeof given !== 'string') return `allowed: ${allowed}`;
  if (urlProblem(given) === undefined) return `write redis: ${shown(given)}`;
  const [, host, port] = /^([\w.-]+):(\d+)$/.exec(given) ?? [];
  return host === undefined ? `allowed: ${allowed}` : `write redis: { host: "${host}", port: ${port} }`;
}

/** An ioredis client or Cluster that you own. It is duplicated, never changed and never closed. */
interface UserRedisClient {
  /** Set by ioredis on a Cluster. */
  readonly isCluster?: boolean;
  /** The options that the client was made with. */
  readonly options?: object;
  /** Returns a client with the same options. */
  duplicate(...args: never[]): unknown;
}

/** A Redis server: a `redis://` or `rediss://` URL, ioredis options, or an ioredis client or Cluster that you own. */
export type RedisConnection = string | RedisConnectionOptions | UserRedisClient;

/** Methods of Redis clients, which options do not have. */
const CLIENT_METHODS = ['sendCommand', 'send_command', 'customCommand', 'quit', 'disconnect', 'duplicate'];

/** Properties that together identify an ioredis client. */
const IOREDIS_METHODS = ['duplicate', 'defineCommand', 'disconnect'];

const CLUSTER_NAMES = ['nodes', 'startupNodes', 'rootNodes', 'redisOptions', 'clusterRetryStrategy'];

/** The keys under which other libraries take a client or its options. */
const WRAPPER = /^(client|redis|config|connection|options|instance|redisInstance|cluster)$/;

/** Returns what is wrong with the option `redis` and is visible without a connection. The text contains no password. */
function redisProblems(value: unknown): Problems {
  if (typeof value === 'string') return urlProblem(value);
  if (isClientClass(value))
    return `redis: got the class ${value.name}; write redis: new ${value.name}(…), or the URL: redis: "redis://host:6379"`;
  const wrong = (fix?: string): string => problem('redis', value, REDIS_ALLOWED, fix);
  if (Array.isArray(value))
    return wrong('for a Cluster write redis: new Cluster(nodes), with Cluster of ioredis');
  if (typeof value !== 'object' || value === null) return wrong();
  if (value instanceof URL) return wrong('write its `href`');
  if (value instanceof Promise) return wrong('await it in useFactory, which may be asynchronous');
  if (isUserClient(value)) return clientProblems(value);
  if (!has(value, CLIENT_METHODS, 'some')) return optionsProblems(value as Record<string, unknown>);
  const name = value.constructor?.name || 'Object';
  return `redis: got a client that is not made by ioredis (${name}); allowed: ${REDIS_ALLOWED}. Write its URL: redis: "redis://host:6379".`;
}

type Problems = string | readonly string[] | undefined;

function isClientClass(value: unknown): value is { readonly name: string } {
  if (typeof value !== 'function') return false;
  const { prototype = {} } = value as { readonly prototype?: object };
  return has(prototype, CLIENT_METHODS, 'some');
}

/** Whether a value is an ioredis client or Cluster. */
export function isUserClient(redis: object): redis is UserRedisClient {
  return has(redis, IOREDIS_METHODS, 'every');
}

/** The values that the option `redis` accepts. */
export const REDIS: OptionCheck = {
  allowed: REDIS_ALLOWED,
  accepts: (value) => [redisProblems(value) ?? []].flat().length === 0,
  problems: (value) => [redisProblems(value) ?? []].flat(),
};

function has(value: object, methods: readonly string[], which: 'some' | 'every'): boolean {
  return methods[which]((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** Values that ioredis would interpret as another address. */
function clientProblems({ isCluster, options = {} }: UserRedisClient): Problems {
  if (!isCluster) return addressProblems('redis.options', options);
  const { redisOptions }: { redisOptions?: RedisConnectionOptions } = options;
  if (!redisOptions?.db || String(redisOptions.db) === '0') return undefined;
  return `redis.options.redisOptions.db: got ${shown(redisOptions.db)}; a Redis Cluster has only database 0`;
}

function optionsProblems(options: Record<string, unknown>): Problems {
  const { url, socket } = options;
  if (typeof url === 'string')
    return `redis.url: no option of ioredis; write redis: ${shown(url)} instead of redis: { url: … }`;
  if (typeof socket === 'object')
    return 'redis.socket: no option of ioredis; write redis: { host: "…", port: 6379 } without `socket`';
  if (CLUSTER_NAMES.some((name) => name in options))
    return 'redis: got options of a Cluster; write redis: new Cluster(nodes, options), with Cluster of ioredis';
  const wrapper = Object.keys(options).find((name) => WRAPPER.test(name) && options[name] !== undefined);
  if (wrapper !== undefined)
    return `redis.${wrapper}: no option of ioredis; write its value as redis, without the object around it`;
  const unknown = Object.keys(options).filter((name) => !isRedisOption(name));
  const problems = unknown.map((name) => {
    const closest = closestRedisOption(name);
    return `redis.${name}: no option of ioredis${closest ? `: did you mean "${closest}"?` : ''}`;
  });
  const wrong = [...problems, ...addressProblems('redis', options)];
  return isNowhere(options) && wrong.length === 0
    ? 'redis: names no server; write redis: { host: "…", port: 6379 }'
    : wrong;
}

/** Whether options name no server, which would lead to localhost:6379. */
function isNowhere({ host, port, path, sentinels, Connector }: RedisConnectionOptions): boolean {
  return [host, port, path, Connector].every((value) => value === undefined) && !sentinels?.length;
}
