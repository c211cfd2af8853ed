/** Injection token of the module's options. */
export const RATE_LIMIT_OPTIONS = Symbol.for('nestjs-redis-rate-limit:options');

/** Injection token of the store: a `RedisStore` or a `MemoryStore`. */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-redis-rate-limit:store');

/**
 * Injection token of a Redis client for the application: the client or Cluster in `redis`; for a URL or ioredis options,
 * a client of its own, without the time limits of the limiter's connections; `null` when limits are counted in memory.
 *
 * The module's client connects with its first command and is closed with the application. Yours is never closed. A URL
 * of a Redis Cluster results in a Cluster.
 *
 * @example
 * constructor(@Inject(RATE_LIMIT_REDIS) private readonly redis: Redis | Cluster | null) {}
 */
export const RATE_LIMIT_REDIS = Symbol.for('nestjs-redis-rate-limit:redis');

/** Injection token of the value of `RATE_LIMIT_REDIS` together with what closes it. */
export const CLIENT_HOLDER = Symbol.for('nestjs-redis-rate-limit:client-holder');

/** Injection token of what completes the responses to GraphQL operations; `undefined` without GraphQL. */
export const GRAPHQL_RESPONSE = Symbol.for('nestjs-redis-rate-limit:graphql-response');

/**
 * Injection token of the `TransportLoader`. The guard and the filter have it first: Nest names the first dependency that is
 * missing, and without the module, its name is the fix.
 */
export const TRANSPORT_LOADER = Symbol.for('nestjs-redis-rate-limit:RateLimitModule.forRoot() in imports');

/** Injection token of the problems of the module's import. */
export const ARGUMENT_PROBLEMS = Symbol.for('nestjs-redis-rate-limit:argument-problems');

/** Injection token of whether the module registers its filter. */
export const REGISTERS_FILTER = Symbol.for('nestjs-redis-rate-limit:registers-filter');
