import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { pathOf } from '../readme/code-blocks.js';
import { compilerOptions } from './errors-in.js';

const FILE = pathOf('test/compiler/library.ts');

/** A library that exports a value of every public function, and a subclass of the guard: its own types name the results. */
const LIBRARY = `
import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import * as root from 'nestjs-redis-rate-limit';
import { RateLimiter } from 'nestjs-redis-rate-limit/limiter';
import { FileRuleSource, MemoryRuleSource } from 'nestjs-redis-rate-limit/live';
import { RedisRuleSource, RedisStore } from 'nestjs-redis-rate-limit/redis';
import { storeContract } from 'nestjs-redis-rate-limit/store';
import { rateLimitMatchers, RateLimitTesting, testDecision } from 'nestjs-redis-rate-limit/testing';
import { RateLimitThrottlerStorage } from 'nestjs-redis-rate-limit/throttler';
import { describeRateLimits } from 'nestjs-redis-rate-limit/swagger';
import { RateLimitDashboardModule } from 'nestjs-redis-rate-limit/dashboard';

declare const limits: root.RateLimitService;
declare const events: root.RateLimitEvents<ExecutionContext>;
declare const health: root.RateLimitHealth;
declare const warnings: root.Warnings;
declare const rule: root.Rule;
declare const held: root.ConcurrencyRule;
declare const decision: root.Decision;

export const decorators = [root.RateLimit('1m', 5), root.RateLimit({ window: '1m', limit: 5 }), root.SkipRateLimit()];
export const usageDecorator = root.Usage();
export const idDecorator = root.RateLimitId('orders');
export const subject = root.byArguments((name: string) => name);
export const overrides = root.overridesFromEnv({ get: () => undefined });
export const schemas = [root.rateLimitSchema, root.rateLimitEnvSchema()] as const;
export const module = root.RateLimitModule.forRoot({ rules: { api: { window: '1m', limit: 5 } } });
export const moduleLater = root.RateLimitModule.forRootAsync({ useFactory: () => ({}) });
export const consumed = limits.consume('api', 'ann');
export const peeked = limits.peek(rule, 'ann');
export const acquired = limits.acquire(rule, 'ann', { maxWait: '1s' });
export const reserved = limits.reserve('api', 'ann', { maxWait: '1s' });
export const reservedByName = limits.reserve(['tokens', 'requests'], 'ann', { cost: { tokens: 5 } });
export const permit = limits.hold(held, 'ann');
export const refunded = limits.refund(decision, { rules: ['api'] });
export const reset = limits.reset('api', 'ann');
export const usage = limits.usage('ann');
export const blocked = limits.block('api', 'ann', '1m');
export const live = limits.rules;
export const liveRules = [limits.rules.list(), limits.rules.get('api')] as const;
export const changes = limits.rules.history(10);
export const stopped = events.on('decision', ({ context }) => context?.getClass(), { only: 'denied' });
export const open = events.openCircuits;
export const faults = events.faults;
export const status = health.isHealthy();
export const warned = warnings.active;
export const metrics = root.recordMetrics;
export const limiter = new RateLimiter({ store: new root.MemoryStore() });
export const fileSource = new FileRuleSource('limits.json');
export const memorySource = new MemoryRuleSource();
export const stored = memorySource.load();
export const error = new root.RateLimitConfigError(['wrong']);
export const exceeded = new root.RateLimitExceededException(decision);
export const unavailable = new root.RateLimitUnavailableException(decision);
export const redisStore = RedisStore.open({ redis: 'redis://localhost' });
export const redisSource = new RedisRuleSource({ redis: 'redis://localhost' });
export const contract = storeContract;
export const matchers = rateLimitMatchers;
export const decided = testDecision({});
export const testing = RateLimitTesting;
export const throttler = new RateLimitThrottlerStorage({});
export const describe = describeRateLimits;
export const dashboard = RateLimitDashboardModule.forRoot({ guards: [] });

export class TenantGuard extends root.RateLimitGuard {
  protected override subjectOf(context: ExecutionContext) {
    return context.switchToHttp().getRequest<{ tenant?: string }>().tenant;
  }
}
`;

it("a library that exports what the package returns can declare its types by the package's exports", () => {
  const options: ts.CompilerOptions = {
    ...compilerOptions(),
    declaration: true,
    noEmit: false,
    paths: {},
    rootDir: pathOf('.'),
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  const program = ts.createProgram([FILE], options, {
    ...host,
    fileExists: (file) => file === FILE || fileExists(file),
    readFile: (file) => (file === FILE ? LIBRARY : readFile(file)),
    getSourceFile: (file, target, ...others) =>
      file === FILE ? ts.createSourceFile(file, LIBRARY, target) : getSourceFile(file, target, ...others),
  });
  const source = program.getSourceFile(FILE)!;
  const found = [...program.getSemanticDiagnostics(source), ...program.getDeclarationDiagnostics(source)];
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
});
