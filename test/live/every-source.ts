import type { RuleSource } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

/** A source, and another one of the same rules, as another process has it. */
export interface Sources {
  readonly source: RuleSource;
  readonly other: RuleSource;
}

/** Opens each source that can be written. */
export const EVERY_SOURCE: readonly (readonly [name: string, open: () => Sources])[] = [
  [
    'memory',
    () => {
      const source = new MemoryRuleSource();
      return { source, other: source };
    },
  ],
  [
    'Redis',
    () => {
      const options = { redis: redisUrl(), key: uniquePrefix() };
      return { source: new RedisRuleSource(options), other: new RedisRuleSource(options) };
    },
  ],
];
