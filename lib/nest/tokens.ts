/** Injection token of the module's options. */
export const RATE_LIMIT_OPTIONS = Symbol.for('nestjs-redis-rate-limit:options');

/** Injection token of the store: a `RedisStore` or a `MemoryStore`. */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-redis-rate-limit:store');
