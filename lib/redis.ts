// nestjs-redis-rate-limit/redis
export { RedisStore } from './stores/redis/redis.store.js';
export type { RedisStoreOptions } from './stores/redis/redis.store.options.js';
export {
  RedisRuleSource,
  type RedisRuleSourceOptions,
} from './stores/redis/rule-source/redis.rule-source.js';
