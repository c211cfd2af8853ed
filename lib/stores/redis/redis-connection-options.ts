import type { ConnectionOptions } from 'node:tls';
import type { RedisOptionName } from './redis-option-names.js';

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
