export * from './core/limiter.js';
export { MemoryStore } from './stores/memory/memory.store.js';
export { RedisStore } from './stores/redis/redis.store.js';
