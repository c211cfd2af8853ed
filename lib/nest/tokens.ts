/** Injects the module's options as they were given. */
export const RATE_LIMIT_OPTIONS = Symbol('RATE_LIMIT_OPTIONS');

/** Injects the store that counts: a `RedisStore` or a `MemoryStore`. */
export const RATE_LIMIT_STORE = Symbol('RATE_LIMIT_STORE');
