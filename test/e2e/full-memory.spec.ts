import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimitHealth, RateLimitModule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

@Controller()
class Visits {
  @Get()
  visit() {}
}

afterEach(closeApps);

/** Handles a request of each tenant, and returns the warnings about memory that were logged. */
async function warningsOf(tenants: string, options: RateLimitModuleOptions): Promise<string[]> {
  const rules = { default: { limit: 1, window: '1d', by: 'x-tenant', algorithm: 'gcra' } } as const;
  const limits = RateLimitModule.forRoot({ maxKeys: 3, rules, ...options });
  const { app, get, logs } = await startApp(
    { imports: [limits], controllers: [Visits] },
    { framework: 'express' },
  );
  for (const tenant of tenants) await get('/', { 'x-tenant': tenant });
  const lines = logs.ours().filter(({ message }) => message.includes('RL_MEMORY_FULL'));
  const { rateLimit } = await app.get(RateLimitHealth).isHealthy();
  expect(rateLimit.warnings.includes('RL_MEMORY_FULL')).toBe(lines.length > 0);
  return lines.map(({ level, message }) => `${level}: ${message}`);
}

describe('a memory that is full', () => {
  it('is one warning in log and health when counters are deleted that have not ended', async () => {
    expect(await warningsOf('abcdefgh', {})).toEqual([
      'warn: The memory holds maxKeys (3) counters, and the least recently used are deleted before they end: their subjects start with a full limit. Raise maxKeys, or count in Redis. (RL_MEMORY_FULL, see docs/warnings.md)',
    ]);
  });

  it('is no warning while all counters have room', async () => {
    expect(await warningsOf('abcabc', {})).toEqual([]);
  });

  it('is a warning of its own when it is the fallback of a Redis that cannot be reached', async () => {
    expect(await warningsOf('abcdefgh', { redis: 'redis://127.0.0.1:1' })).toEqual([
      expect.stringMatching(/Raise maxKeys, or restore Redis: the memory is its fallback\. \(RL_MEMORY_FULL/),
    ]);
  });

  it('can be turned off', async () => {
    expect(await warningsOf('abcdefgh', { warnings: { RL_MEMORY_FULL: false } })).toEqual([]);
  });

  it('is reported again after an hour, and not for counters that have ended', async () => {
    let now = Date.UTC(2024, 0, 1);
    const store = new MemoryStore({ clock: () => now, maxKeys: 2 });
    const limiter = new RateLimiter({ store });
    const reports: number[] = [];
    store.watchFull((maxKeys) => reports.push(maxKeys));
    const visit = (rule: Rule, subjects: string) =>
      Promise.all(Array.from(subjects, (subject) => limiter.consume(rule, subject)));
    const short: Rule = { name: 'short', algorithm: 'fixed-window', limit: 1, window: '1s' };
    await visit(short, 'ab');
    now += 2000;
    await visit({ ...short, name: 'long', window: '1d' }, 'ab');
    expect(reports).toEqual([]);
    await visit({ ...short, name: 'long', window: '1d' }, 'cdef');
    expect(reports).toEqual([2]);
    now += 3_599_999;
    await visit({ ...short, name: 'long', window: '1d' }, 'ghi');
    expect(reports).toEqual([2]);
    now += 1;
    await visit({ ...short, name: 'long', window: '1d' }, 'jk');
    expect(reports).toEqual([2, 2]);
    await limiter.close();
    await store.close();
  });
});
