import type { RuleSource } from 'nestjs-redis-rate-limit';
import { MemoryRuleSource } from 'nestjs-redis-rate-limit/live';
import { RedisRuleSource } from 'nestjs-redis-rate-limit/redis';

/** Limits that change while the application runs: in Redis for all processes, or in memory. */
export function liveRules(redis: string | undefined, prefix = 'rl:'): RuleSource {
  return redis ? new RedisRuleSource({ redis, key: `${prefix}rules` }) : new MemoryRuleSource();
}
