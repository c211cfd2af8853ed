/** Injection token of the module's options. */
export const RATE_LIMIT_OPTIONS = Symbol.for('nestjs-redis-rate-limit:options');

/** Injection token of the store: a `RedisStore` or a `MemoryStore`. */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-redis-rate-limit:store');

/** Injection token of what is wrong with the way in which the module was imported. */
export const ARGUMENT_PROBLEMS = Symbol.for('nestjs-redis-rate-limit:argument-problems');
