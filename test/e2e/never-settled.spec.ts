import { Injectable } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitHealth, RateLimitModule } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps, startApp } from '../support/nest-app.js';

const JOBS = { by: 'everyone' } as const;

afterEach(closeApps);

/**
 * Handles two messages with a handler whose class is not known before it has an instance and names no rule, so that
 * nothing observes its end, and returns the warnings that were logged.
 */
async function warningsOf(rule: NamedRule, warnings = true): Promise<string[]> {
  @Injectable()
  class Jobs {
    run() {}
  }
  Reflect.defineMetadata(
    'microservices:pattern',
    ['run'],
    Object.getOwnPropertyDescriptor(Jobs.prototype, 'run')!.value as object,
  );
  const imports = [RateLimitModule.forRoot({ warnings, rules: { jobs: rule }, transports: ['rpc'] })];
  const { app, logs } = await startApp(
    { imports, providers: [{ provide: Jobs, useFactory: () => new Jobs() }] },
    { framework: 'express' },
  );
  const jobs = app.get(Jobs);
  const creator = app.get(ExternalContextCreator, { strict: false });
  const run = creator.create(
    jobs,
    jobs.run,
    'run',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    'rpc',
  );
  for (let message = 0; message < 2; message++) await run({}).catch(() => undefined);
  const lines = logs.ours().filter(({ message }) => message.includes('RL_NEVER_SETTLED'));
  const { rateLimit } = await app.get(RateLimitHealth).isHealthy();
  expect(rateLimit.warnings.includes('RL_NEVER_SETTLED')).toBe(lines.length > 0);
  return lines.map(({ level, message }) => `${level}: ${message}`);
}

describe('a request whose end cannot be observed', () => {
  it('is one warning, in log and health, if it holds permits', async () => {
    expect(await warningsOf({ ...JOBS, algorithm: 'concurrency', limit: 1 })).toEqual([
      'warn: Rule "jobs" on Jobs.run: the end of a rpc request is not known here, so its permits are held until their lease ' +
        'ends. Hold the permits in the handler with RateLimitService.hold(), or add @SkipRateLimit("jobs"). ' +
        '(RL_NEVER_SETTLED, see docs/warnings.md)',
    ]);
  });

  it.each(['failures', 'successes', () => true] as const)(
    'is one warning if its result decides whether it counts: %p',
    async (count) => {
      expect(await warningsOf({ ...JOBS, window: '1m', limit: 5, count })).toEqual([
        'warn: Rule "jobs" on Jobs.run: the end of a rpc request is not known here, so all requests count, whatever `count` ' +
          'is. Call refund() in the handler, or add @SkipRateLimit("jobs"). (RL_NEVER_SETTLED, see docs/warnings.md)',
      ]);
    },
  );

  it('is no warning otherwise, or where warnings are off', async () => {
    expect(await warningsOf({ ...JOBS, window: '1m', limit: 5 })).toEqual([]);
    expect(await warningsOf({ ...JOBS, algorithm: 'concurrency', limit: 1 }, false)).toEqual([]);
  });
});
