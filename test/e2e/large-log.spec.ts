import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { FOR_LARGE_LIMITS } from '../../lib/algorithms/known.js';
import { RateLimit, RateLimitModule, RateLimitService, Warnings, type RouteRule } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

afterEach(closeApps);

function metadataOf(rule: RouteRule, options: object = {}) {
  @Controller()
  class Routes {
    @RateLimit(rule)
    @Get()
    get() {}
  }
  return { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] };
}

/** Returns the warnings of the application after a request. */
async function warningOf(rule: RouteRule, options?: object): Promise<string | undefined> {
  const { app, get } = await startApp(metadataOf(rule, options), { framework: 'express' });
  expect((await get('/')).status).toBe(200);
  return app.get(Warnings).active.get('RL_LARGE_LOG');
}

const TOO_LARGE = `allowed without an algorithm: at most 10000, since sliding-window-log stores an entry for each permit; choose ${FOR_LARGE_LIMITS} as its algorithm`;

describe('a large limit without an algorithm, whose log would fill Redis unnoticed,', () => {
  it.each<[string, RouteRule, object?]>([
    ['in a decorator', { limit: 5000, window: '1h' }, {}],
    ['in an override', { limit: 5, window: '1h' }, { overrides: { default: { limit: '5000' } } }],
    ['as a trial', { limit: 5, window: '1h', trial: { limit: 5000 } }, {}],
    ['from a function', { limit: () => 5000, window: '1h' }, {}],
  ])('a large log is reported with its bytes: %s', async (_title, rule, options) => {
    expect(await warningOf(rule, options)).toBe(
      `Rule "default" of Routes.get has a limit of 5000 and no algorithm: sliding-window-log stores an entry for each permit, up to 85000 bytes for each subject. Set its algorithm to ${FOR_LARGE_LIMITS}, or to "sliding-window-log" to confirm it.`,
    );
  });

  it('a large log is reported for a rule on demand and for a rule of a program', async () => {
    const metadata = metadataOf(
      { limit: 5, window: '1m' },
      { onDemand: { mail: { limit: 5000, window: '1h' } } },
    );
    const { app } = await startApp(metadata, { framework: 'express' });
    expect(app.get(Warnings).active.get('RL_LARGE_LOG')).toMatch('Rule "mail" of');

    const other = await startApp(metadataOf({ limit: 5, window: '1m' }), { framework: 'express' });
    await other.app.get(RateLimitService).consume({ name: 'jobs', limit: 5000, window: '1h' }, 'ada');
    expect(other.app.get(Warnings).active.get('RL_LARGE_LOG')).toMatch('Rule "jobs" of a program');
  });

  it.each<RouteRule>([
    { limit: 1000, window: '1h' },
    { limit: 5000, window: '1h', algorithm: 'sliding-window-log' },
    { limit: 50_000, window: '1h', algorithm: 'sliding-window-log' },
    { limit: 5000, window: '1h', algorithm: 'gcra' },
  ])('a small limit or a stated algorithm causes no warning: %j', async (rule) => {
    expect(await warningOf(rule)).toBeUndefined();
  });

  it('a function that returns a limit above 10,000 without an algorithm limits by its last valid limit, and is reported', async () => {
    const limits = [20_000, 2, 20_000, 20_000];
    const rule: RouteRule = { limit: () => limits.shift()!, window: '1h' };
    const { app, get } = await startApp(metadataOf(rule), { framework: 'express' });
    const statuses = [];
    for (let nth = 0; nth < 4; nth++) statuses.push((await get('/')).status);
    expect(statuses).toEqual([503, 200, 200, 429]);
    const warning = app.get(Warnings).active.get('RL_INVALID_VALUE');
    expect(warning).toContain(`rule "default" of Routes.get.limit: got 20000; ${TOO_LARGE}`);
  });

  it('a limit above 10,000 without an algorithm stops the application, also in an override or a trial limit', async () => {
    expect(await refusalToStart(metadataOf({ limit: 10_001, window: '1h' }))).toBe(
      configMessage(`rule "default" of Routes.get.limit: got 10001; ${TOO_LARGE}`),
    );
    const overrides = { default: { limit: '20000' } };
    expect(await refusalToStart(metadataOf({ limit: 5, window: '1h' }, { overrides }))).toBe(
      configMessage(`rule "default" of Routes.get.limit: got 20000; ${TOO_LARGE}`),
    );
    expect(await refusalToStart(metadataOf({ limit: 5, window: '1h', trial: { limit: 10_001 } }))).toBe(
      configMessage(`rule "default" of Routes.get.trial.limit: got 10001; ${TOO_LARGE}`),
    );
  });
});
