import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { AdminGuard, startDashboard, type DashboardApp, type DashboardSetup } from './dashboard-app.js';

afterEach(closeApps);

const IP = '203.0.113.7';
const ADMIN = { 'x-admin': 'yes' };
const PRIVACY = { ...ADMIN, 'x-privacy': 'yes' };

@Injectable()
class PrivacyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-privacy'] === 'yes';
  }
}

async function withDenial(setup: DashboardSetup) {
  const app = await startDashboard(setup);
  while ((await app.login(IP)).status !== 429);
  const snapshot = JSON.parse((await app.ask('snapshot', ADMIN)).body) as Awaited<
    ReturnType<DashboardApp['snapshot']>
  >;
  const { id } = snapshot.rules.find(({ rule }) => rule === 'login')!.top[0]!;
  return { ...app, snapshot, id, unmask: (headers = {}) => unmask(app, [{ rule: 'login', id }], headers) };
}

/** Returns the lines of the log about subjects that were seen. */
function seen({ logs }: Pick<DashboardApp, 'logs'>) {
  return logs.ours().filter(({ message }) => message.startsWith('Operations page'));
}

function unmask({ change }: Pick<DashboardApp, 'change'>, subjects: unknown, headers = {}) {
  return change('unmask', { subjects }, headers);
}

describe.each(FRAMEWORKS)('subjects that are shown unmasked, on %s', (framework) => {
  it('are for users that both kinds of guards allow, and the log has who has seen them, without the subject', async () => {
    const app = await withDenial({
      framework,
      dashboard: { guards: [AdminGuard], unmaskGuards: [PrivacyGuard], author: () => 'ann\nroot' },
    });
    expect(app.snapshot.unmask).toBe(true);
    for (const headers of [{}, ADMIN, { 'x-privacy': 'yes' }])
      expect((await app.unmask(headers)).status).toBe(403);
    expect(seen(app)).toEqual([]);
    const { status, body } = await app.unmask(PRIVACY);
    expect([status, body]).toEqual([200, `{"subjects":["${IP}"]}`]);
    expect(seen(app)).toEqual([
      {
        level: 'log',
        message: `Operations page: "ann\\u000aroot" has seen the subject with the id ${app.id} of rule "login".`,
      },
    ]);
  });

  it('are for no user without guards of their own', async () => {
    const app = await withDenial({ framework });
    expect(app.snapshot.unmask).toBe(false);
    const { status, body } = await app.unmask();
    expect([status, body]).toEqual([403, expect.stringContaining('unmaskGuards')]);
  });

  it('are those of ids that are right, which only the page can send', async () => {
    const app = await withDenial({ framework, dashboard: { unmaskGuards: [PrivacyGuard] } });
    for (const subjects of [
      undefined,
      [],
      ['x'],
      [{ rule: 'default', id: app.id }],
      [{ rule: 'login', id: IP }],
      Array.from({ length: 101 }, () => ({ rule: 'login', id: app.id.slice(0, 9) })),
    ])
      expect((await unmask(app, subjects, PRIVACY)).status).toBe(422);
    expect((await app.unmask({ ...PRIVACY, origin: 'https://evil.example' })).status).toBe(403);
    expect((await app.unmask({ ...PRIVACY, 'x-rate-limit-dashboard': '0' })).status).toBe(403);
    expect((await app.ask('unmask', PRIVACY)).status).toBe(404);
  });
});
