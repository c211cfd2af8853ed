import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import type { Snapshot } from '../../lib/dashboard/snapshot.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { EVERY_USER, unmasked } from './dashboard-app.js';

afterEach(closeApps);

const NAME = '<img/src=x onerror=alert(1)>"\'&</script>';
const SUBJECTS = [
  '<script>alert(1)</script>',
  '\u202egnp.exe',
  'a\u0000b',
  '\u0000["forged"]',
  '\ud800',
  '"},{"rule":"x"',
  '__proto__',
  '\r\n\r\nevent: snapshot',
];

/** How a subject of 300 characters is shown: its first characters and its digest. */
const LONG_SUBJECT = 'xxxxxxxx…#e4c227ef540f03c3a8b66e2f7670a16c';

@Controller()
class Search {
  @RateLimit({ name: NAME, window: '1h', limit: 0, by: ['x-tenant', () => 'ann'] })
  @Get('search')
  search() {}
}

describe.each(FRAMEWORKS)('names and subjects of clients, on %s', (framework) => {
  it('are text in JSON, each as it was, and can be reset', async () => {
    const { app, get, send } = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({
            onDemand: { closed: { window: '1h', limit: 1, by: () => 'x' } },
          }),
          RateLimitDashboardModule.forRoot({ unmaskGuards: [EVERY_USER] }),
        ],
        controllers: [Search],
      },
      { framework },
    );
    const limits = app.get(RateLimitService);
    const isAllowed = async (subject: string) => (await limits.consume('closed', subject)).allowed;
    for (const subject of [...SUBJECTS, 'x'.repeat(300)]) {
      expect([await isAllowed(subject), await isAllowed(subject)]).toEqual([true, false]);
    }
    expect((await get('/search', { 'x-tenant': '<b>' })).status).toBe(429);
    const { headers, body } = await get('/rate-limits/snapshot');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    const { rules } = JSON.parse(body) as Snapshot;
    expect(rules.map(({ rule }) => rule)).toEqual([NAME, 'closed']);
    const { top } = rules[1]!;
    const subjects = await unmasked(
      { send },
      top.map(({ id }) => ({ rule: 'closed', id })),
    );
    expect([...subjects].sort()).toEqual([...SUBJECTS, LONG_SUBJECT].sort());
    for (const { id } of top) {
      const reset = await send({
        method: 'POST',
        path: '/rate-limits/subjects/reset',
        headers: { 'x-rate-limit-dashboard': '1', 'content-type': 'application/json' },
        body: JSON.stringify({ rule: 'closed', subject: id }),
      });
      expect(reset.status).toBe(200);
    }
    for (const subject of SUBJECTS) expect(await isAllowed(subject)).toBe(true);
  });
});
