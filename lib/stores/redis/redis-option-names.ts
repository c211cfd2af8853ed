import { nearest } from '../../contracts/rate-limit-config.error.js';
import type { RedisOptions } from 'ioredis';
import type { ConnectionOptions } from 'node:tls';

/** The options of ioredis 5 and 6. A misspelled option stops the application at start. */
const NAMES = {
  Connector: true,
  autoPipeliningIgnoredCommands: true,
  autoResendUnfulfilledCommands: true,
  autoResubscribe: true,
  blockingTimeout: true,
  blockingTimeoutGrace: true,
  clientInfoTag: true,
  commandQueue: true,
  commandTimeout: true,
  connectTimeout: true,
  connectionName: true,
  db: true,
  disableClientInfo: true,
  disconnectTimeout: true,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  enableTLSForSentinelMode: true,
  failoverDetector: true,
  family: true,
  himportFieldsets: true,
  host: true,
  keepAlive: true,
  keyPrefix: true,
  lazyConnect: true,
  maxLoadingRetryTime: true,
  maxRetriesPerRequest: true,
  monitor: true,
  name: true,
  natMap: true,
  noDelay: true,
  offlineQueue: true,
  password: true,
  path: true,
  port: true,
  preferredSlaves: true,
  protocol: true,
  readOnly: true,
  reconnectOnError: true,
  replyMapping: true,
  retryStrategy: true,
  role: true,
  scripts: true,
  sentinelCommandTimeout: true,
  sentinelMaxConnections: true,
  sentinelPassword: true,
  sentinelReconnectStrategy: true,
  sentinelRetryStrategy: true,
  sentinelTLS: true,
  sentinelUsername: true,
  sentinels: true,
  showFriendlyErrorStack: true,
  socketTimeout: true,
  stringNumbers: true,
  tls: true,
  updateSentinels: true,
  username: true,
} as const satisfies Readonly<Record<keyof RedisOptions, true>>;

/** An option of ioredis 5 or 6. */
type RedisOptionName = keyof typeof NAMES;

/** Names of these options in other libraries. */
const ALIASES: Readonly<Record<string, RedisOptionName>> = {
  auth: 'password',
  auth_pass: 'password',
  database: 'db',
  hostname: 'host',
  master: 'name',
  pass: 'password',
  prefix: 'keyPrefix',
  ssl: 'tls',
  user: 'username',
};

/** Whether ioredis has an option of this name. */
export function isRedisOption(name: string): boolean {
  return Object.hasOwn(NAMES, name);
}

/** Returns the option that was probably meant. */
export function closestRedisOption(name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : nearest(name, Object.keys(NAMES));
}

/**
 * The options of an ioredis client. `RedisOptions` of ioredis can be assigned to it; it is declared here so that an
 * application without ioredis compiles. Options without a description here are passed to ioredis unchanged.
 */
export interface RedisConnectionOptions extends Readonly<Partial<Record<RedisOptionName, unknown>>> {
  /** Name or address of the server. */
  readonly host?: string | undefined;
  /** Port of the server, an integer from 1 to 65535. */
  readonly port?: number | undefined;
  /** Path of a unix socket. */
  readonly path?: string | undefined;
  /** Number of the database. */
  readonly db?: number | undefined;
  /** User name for Redis ACLs. */
  readonly username?: string | undefined;
  /** Password. */
  readonly password?: string | undefined;
  /** Options of TLS; `{}` is enough for a certificate that Node trusts. */
  readonly tls?: ConnectionOptions | undefined;
  /** Prefix that ioredis puts before every key. */
  readonly keyPrefix?: string | undefined;
  /** The Sentinels that monitor the master. */
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | undefined;
  /** Name of the master that the Sentinels monitor. */
  readonly name?: string | undefined;
}
