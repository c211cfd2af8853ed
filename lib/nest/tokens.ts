/** Injection token of the module's options. */
export const RATE_LIMIT_OPTIONS = Symbol('RATE_LIMIT_OPTIONS');

/** Injection token of the store: a `RedisStore` or a `MemoryStore`. */
export const RATE_LIMIT_STORE = Symbol('RATE_LIMIT_STORE');
