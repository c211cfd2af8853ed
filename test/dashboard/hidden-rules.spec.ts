import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Collector } from '../../lib/dashboard/collect/collector.js';
import { reportOf } from '../../lib/dashboard/collect/process-report.js';
import { totalsOf } from '../../lib/dashboard/collect/totals.js';
import { subjectOfText, subjectText } from '../../lib/dashboard/collect/masked.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import type { Snapshot } from '../../lib/dashboard/snapshot.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { EVERY_USER, FROM_PAGE, unmasked } from './dashboard-app.js';

afterEach(closeApps);

const PROCESS = {
  ...{ id: 'p', host: 'h', pid: 1, since: 0, servers: [], package: '1.0.0', liveRules: '' },
  ...{ problems: [], hasEnded: false, keptMs: 60_000 },
};
const SECOND = 1_700_000_000;
const CONTROL = '\u0001'.repeat(63);

function collected() {
  const clock = () => SECOND * 1000;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock }) });
  const collector = new Collector(clock);
  limiter.events.observe(collector);
  return { limiter, collector, report: () => reportOf(PROCESS, collector) };
}

const closed = (name: string) => ({ name, window: '1m', limit: 0, algorithm: 'fixed-window' }) as const;

describe('the report of a process', () => {
  it('has the rules after one whose figures are too long', async () => {
    const { limiter, collector, report } = collected();
    for (const name of ['wide', 'wide', 'wide', 'busy', 'busy', 'quiet'])
      await limiter.consume(closed(name), 'ann');
    for (let nth = 0; nth < 20; nth += 1) {
      collector.rules.get('wide')!.addRoute(SECOND, `${nth}${'R'.repeat(3000)}`, true);
    }
    const { rules, uncounted } = report();
    expect([rules.map(({ rule }) => rule), uncounted]).toEqual([['busy', 'quiet'], 3]);
  });

  it('has all rules and their first subjects, whatever the characters of 24 subjects of a client are', async () => {
    const { limiter, report } = collected();
    const names = ['a', 'b', 'c', 'd', 'quiet'];
    for (const name of names.slice(0, -1)) {
      for (let nth = 0; nth < 24; nth += 1) {
        const subject = [`${nth}`, CONTROL, CONTROL, CONTROL];
        for (let times = 0; times <= nth; times += 1) await limiter.consume(closed(name), subject);
      }
    }
    await limiter.consume(closed('quiet'), 'ann');
    const { rules, uncounted } = report();
    expect([rules.map(({ rule }) => rule), uncounted]).toEqual([names, 0]);
    const totals = totalsOf([{ ...report(), seenMs: 0, isCurrent: true }], SECOND + 1).rules;
    expect(totals.get('quiet')!.top.map(([element]) => element)).toEqual(['ann']);
    const { top, rest } = rules[0]!;
    expect(top.slice(0, 3).map(([, count]) => count)).toEqual([24, 23, 22]);
    expect(rest).toBe(24 - top.length);
    expect(JSON.stringify(report()).length).toBeLessThan(56 * 1024);
  });
});

it.each([
  'ann',
  '',
  '\0',
  '\0\0[]',
  '\u00003|ann',
  ['ann'],
  ['', ''],
  ['1|', '|2', '\0', 'x|'],
  Array.from({ length: 8 }, () => '\ud800'.repeat(32)),
])('a subject is read as it was written (%#)', (subject) => {
  expect(subjectOfText(subjectText(subject))).toEqual(subject);
});

it.each(FRAMEWORKS)('a list of 256 characters is listed and can be reset, on %s', async (framework) => {
  const byFour = () => 'x';
  const onDemand = { four: { window: '1h', limit: 1, by: [byFour, byFour, byFour, byFour] } } as const;
  const page = RateLimitDashboardModule.forRoot({ unmaskGuards: [EVERY_USER] });
  const { app, get, send } = await startApp(
    { imports: [RateLimitModule.forRoot({ onDemand }), page] },
    { framework },
  );
  const limits = app.get(RateLimitService);
  const subject = ['a', 'b', 'c', '\u0001'].map((character) => character.repeat(64));
  const isAllowed = async () => (await limits.consume('four', subject)).allowed;
  expect([await isAllowed(), await isAllowed()]).toEqual([true, false]);
  const { rules } = JSON.parse((await get('/rate-limits/snapshot')).body) as Snapshot;
  const { top } = rules[0]!;
  expect(await unmasked({ send }, [{ rule: 'four', id: top[0]!.id }])).toEqual([subject.join(' | ')]);
  const body = JSON.stringify({ rule: 'four', subject: top[0]!.id });
  const reset = { method: 'POST', path: '/rate-limits/subjects/reset', headers: FROM_PAGE, body };
  expect((await send(reset)).status).toBe(200);
  expect(await isAllowed()).toBe(true);
});
