// nestjs-redis-rate-limit/redis
export { RedisStore } from './stores/redis/redis.store.js';
export { RedisRuleSource } from './stores/redis/rule-source/redis.rule-source.js';
