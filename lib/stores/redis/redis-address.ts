import { isIPv6 } from 'node:net';
import { shown } from '../../contracts/shown.js';
import type { RedisConnectionOptions } from './redis-connection-options.js';
import { urlProblems } from './redis-url.js';

/** Returns what is wrong with the server in ioredis options: ioredis would connect to localhost:6379, or not at all. */
export function addressProblems(path: string, options: RedisConnectionOptions): string[] {
  const { host, port, path: socket, sentinels, db } = options;
  return [
    ...hostProblems(`${path}.host`, host),
    ...(port === undefined || isPort(port)
      ? []
      : [`${path}.port: got ${shown(port)}; allowed: an integer from 1 to 65535`]),
    ...(socket?.includes('://')
      ? [`${path}.path: got ${shown(socket)}; ${fixOf(socket, 'the path of a unix socket')}`]
      : []),
    ...(sentinels ?? []).flatMap((sentinel, index) =>
      hostProblems(`${path}.sentinels[${index}].host`, sentinel.host),
    ),
    ...sentinelProblems(path, options),
    ...databaseProblems(`${path}.db`, db),
  ];
}

/** Returns what is wrong with options for Sentinel, with which ioredis would fail when it connects. */
function sentinelProblems(path: string, { sentinels, name, host, port }: RedisConnectionOptions): string[] {
  if (!sentinels) return [];
  const isBeside = host !== undefined || port !== undefined;
  if (sentinels.length === 0 && isBeside) {
    return [`${path}.sentinels: got []; allowed: at least one, or leave it out`];
  }
  if (sentinels.length === 0 || (typeof name === 'string' && name !== '')) return [];
  const given = name === undefined ? 'missing' : `got ${shown(name)}`;
  return [`${path}.name: ${given}; allowed: the name of the master that the Sentinels monitor`];
}

/** Returns what is wrong with a database number that ioredis would treat as 0. */
function databaseProblems(path: string, db: unknown): string[] {
  const isDatabase = db === undefined || (typeof db === 'number' ? isCount(db) : isDigits(db));
  return isDatabase ? [] : [`${path}: got ${shown(db)}; allowed: an integer from 0`];
}

function hostProblems(path: string, host: unknown): string[] {
  if (host === undefined) return [];
  if (typeof host === 'string' && (isIPv6(host) || /^[^\s:/?#@]+$/.test(host))) return [];
  return [`${path}: got ${shown(host)}; ${fixOf(host, 'the name or address of a host')}`];
}

function fixOf(given: unknown, allowed: string): string {
  if (typeof given !== 'string') return `allowed: ${allowed}`;
  if (urlProblems(given).length === 0) return `write redis: ${shown(given)}`;
  const [, host, port] = /^([\w.-]+):(\d+)$/.exec(given) ?? [];
  return host === undefined ? `allowed: ${allowed}` : `write redis: { host: "${host}", port: ${port} }`;
}

function isPort(port: unknown): boolean {
  const number = isDigits(port) ? Number(port) : port;
  return Number.isInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function isDigits(value: unknown): value is string {
  return typeof value === 'string' && /^\d+$/.test(value);
}
