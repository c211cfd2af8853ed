import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { RedisRuleSource } from '../../lib/redis.js';
import type { HistoryEntry } from '../../lib/dashboard/snapshot.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { startDashboard, type DashboardSetup } from './dashboard-app.js';

afterEach(closeApps);

const SOURCES = {
  memory: () => new MemoryRuleSource(),
  Redis: () => new RedisRuleSource({ redis: redisUrl(), key: uniquePrefix() }),
} as const;

describe.each(Object.entries(SOURCES))('what changed, with live rules in %s', (_source, sourceOf) => {
  async function start(dashboard: DashboardSetup['dashboard'] = {}) {
    const app = await startDashboard({
      limits: { liveRules: sourceOf() },
      dashboard: { author: () => 'ann', ...dashboard },
    });
    const { rules } = app.app.get(RateLimitService);
    const history = async () => JSON.parse((await app.ask('history')).body) as HistoryEntry[];
    return {
      rules,
      history,
      undo: (version: number) => app.change('rules/undo', { version, reason: 'too low' }),
      steps: async () =>
        (await history()).map(({ rule, before, fields, by, canUndo }) => [rule, before, fields, by, canUndo]),
    };
  }

  it('is one history of all rules: from what to what, by whom and why, until when, and what can be undone', async () => {
    const { rules, history, steps } = await start();
    await rules.set('login', { limit: 7 }, { by: 'bob', reason: 'attack', expires: '1h' });
    await rules.set('default', { limit: 50 }, { by: 'eve' });
    await rules.set('login', { limit: 8, block: 'manual' }, { by: 'eve' });
    await rules.unset('default', { by: 'bob' });
    await rules.setException('login', '203.0.113.7', 'deny', { by: 'bob' });
    expect(await steps()).toEqual([
      ['login', null, 'deny', 'bob', true],
      ['default', { limit: 50 }, undefined, 'bob', true],
      ['login', { limit: 7 }, { limit: 8, block: 'manual' }, 'eve', true],
      ['default', null, { limit: 50 }, 'eve', false],
      ['login', null, { limit: 7 }, 'bob', false],
    ]);
    const [exception, , , , first] = await history();
    expect(exception!.subject!.subject).toBe('2•••7');
    expect([first!.reason, first!.expiresInMs]).toEqual(['attack', 3_600_000]);
  });

  it('is undone one change at a time: what was in force before applies again, with its end, and that is a change', async () => {
    const { rules, history, undo, steps } = await start();
    await rules.set('login', { limit: 7 }, { by: 'bob', expires: '1h' });
    await rules.set('login', { limit: 8 }, { by: 'bob' });
    await rules.setException('login', '203.0.113.7', 'deny', { by: 'bob' });
    const [exception, second, first] = await history();
    expect((await undo(first!.version)).status).toBe(422);
    expect((await undo(exception!.version)).status).toBe(200);
    expect(await rules.get('login', '203.0.113.7')).toBeUndefined();
    expect((await undo(second!.version)).status).toBe(200);
    const now = await rules.get('login');
    expect(now).toMatchObject({ fields: { limit: 7 }, by: 'ann', reason: 'too low' });
    expect(now!.expiresInMs).toBeGreaterThan(3_500_000);
    expect((await undo(second!.version)).status).toBe(422);
    expect((await steps()).slice(0, 2)).toEqual([
      ['login', { limit: 8 }, { limit: 7 }, 'ann', true],
      ['login', 'deny', undefined, 'ann', true],
    ]);
    const [restored, removed] = await history();
    expect((await undo(removed!.version)).status).toBe(200);
    expect(await rules.get('login', '203.0.113.7')).toMatchObject({ fields: 'deny' });
    await rules.unset('login', { by: 'bob' });
    expect((await undo(restored!.version)).status).toBe(422);
  });

  it('has nothing to undo when a change has ended, and the next one is from the rule in the code', async () => {
    const { rules, steps } = await start();
    await rules.set('login', { limit: 7 }, { by: 'bob', expires: '50ms' });
    await until(async () => (await rules.get('login')) === undefined, 'the end', 10_000);
    await until(async () => (await steps())[0]!.at(-1) === false, 'the end on the page', 10_000);
    await rules.set('login', { limit: 8 }, { by: 'bob' });
    expect((await steps())[0]).toEqual(['login', null, { limit: 8 }, 'bob', true]);
  });

  it('is not undone on a page that is read-only', async () => {
    const { rules, history, undo } = await start({ readOnly: true });
    await rules.set('login', { limit: 7 }, { by: 'bob' });
    expect((await undo((await history())[0]!.version)).status).toBe(403);
  });
});
