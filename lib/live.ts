// Sources of live rules: nestjs-redis-rate-limit/live
export { FileRuleSource } from './live/file.rule-source.js';
export { MemoryRuleSource } from './live/memory.rule-source.js';
export type { RuleSource } from './contracts/rule-source.js';
