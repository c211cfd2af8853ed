import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, Warnings } from '../../lib/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

describe.each(FRAMEWORKS)('the operations page on %s', (framework) => {
  it('is HTML without inline code, under a strict content security policy', async () => {
    const { get, ask } = await startDashboard({ framework });
    const { status, headers, body } = await ask('page');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toBe('no-store, no-transform');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(body).toMatch(/^<!doctype html>/i);
    expect((await ask('page.js')).headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect((await ask('page.css')).headers['content-type']).toBe('text/css; charset=utf-8');
    const redirected = await get('/rate-limits?rule=login');
    expect([redirected.status, redirected.headers['location']]).toEqual([302, 'rate-limits/page?rule=login']);
  });

  it('answers 404 to a path in capital letters, also where the framework routes it', async () => {
    const { ask } = await startDashboard({ framework });
    for (const path of ['PAGE', 'SNAPSHOT', 'History', 'Restrictions'])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
  });

  it('shows the requests of each rule and route, and the denied subjects masked', async () => {
    const { login, get, snapshot } = await startDashboard({ framework });
    for (let nth = 0; nth < 5; nth += 1) await login('203.0.113.7');
    await get('/page');
    const { seconds } = await snapshot();
    expect(seconds.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(4);
  });
});

it('shows a warning of each code before others, and how many are missing', async () => {
  const { app, snapshot } = await startDashboard();
  const warnings = app.get(Warnings);
  for (let nth = 0; nth < 12; nth += 1) warnings.warn('RL_INVALID_VALUE', `Rule ${nth}.`, `rule ${nth}`);
  warnings.warn('RL_LARGE_LOG', 'A large log.');
  const shown = (await snapshot()).problems.map(({ text }) => text);
  expect(shown.slice(0, 3)).toEqual([
    'Rule 11. (RL_INVALID_VALUE)',
    'A large log. (RL_LARGE_LOG)',
    'Rule 0. (RL_INVALID_VALUE)',
  ]);
  expect(shown.slice(9)).toEqual(['Rule 7. (RL_INVALID_VALUE)', 'The log has 3 more of these problems.']);
});

it('an application has one operations page', async () => {
  const second = RateLimitDashboardModule.forRoot({ path: '/other' });
  const started = startApp(
    { imports: [RateLimitModule.forRoot({}), RateLimitDashboardModule.forRoot(), second] },
    { framework: 'express' },
  );
  await expect(started).rejects.toThrow('RateLimitDashboardModule: imported twice');
});
