import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { masked } from '../../lib/dashboard/subjects/masked.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look, type Watched } from './chromium.js';
import { PASS, startDashboardApp, type DashboardApp } from './dashboard-app.js';
import { expand, live, press, tabTo } from './page-parts.js';

const LOOKS = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 1280 },
  { scheme: 'light', width: 390 },
  { scheme: 'dark', width: 390 },
  { scheme: 'light', width: 640, height: 400 }, // 200 % of 1280 x 800
] as const;

describe('the operations page during an incident', () => {
  let chromium: Chromium;
  let app: DashboardApp;
  let other: DashboardApp;
  let opened: Watched | undefined;
  let nextIp = 1;

  beforeAll(async () => {
    chromium = await startChromium();
    const prefix = uniquePrefix();
    [app, other] = await Promise.all([startDashboardApp(prefix), startDashboardApp(prefix, {}, 'fastify')]);
  }, 120_000);

  afterAll(async () => {
    await chromium.close();
    await closeApps();
  });

  afterEach(async () => {
    const { page, errors } = opened ?? {};
    await page?.browserContext().close();
    opened = undefined;
    expect(errors ?? []).toEqual([]);
  });

  async function open(look: Look = {}, query = '', url = app.url) {
    opened = await chromium.open(`${url}${query}`, { headers: PASS, ...look });
    await live(opened.page);
    return opened.page;
  }

  async function denied(): Promise<string> {
    const ip = `203.0.113.${nextIp++}`;
    await until(async () => (await other.getFrom(ip, '/login')).status === 429, 'a denial', 60_000);
    return ip;
  }

  /** Those of the process whose page is open: a change is in force there at once. */
  const limits = () => app.app.get(RateLimitService);
  const dialogHas = (text: string) =>
    opened!.page.waitForFunction(
      `document.querySelector('dialog[open]')?.textContent.includes(${JSON.stringify(text)})`,
    );

  it('finds a blocked subject that is quiet, as a person writes it, and lifts its block, by the keyboard alone', async () => {
    const ip = await denied();
    const by = { by: 'bob', reason: 'a scraper', expires: '1h' } as const;
    await limits().rules.setException('login', ip, 'deny', by);
    const page = await open();
    await tabTo(page, 'Find a subject');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    await page.keyboard.type(` ::ffff:${ip} `);
    await page.keyboard.press('Enter');
    await dialogHas('0 of 0');
    await dialogHas('a scraper');
    await dialogHas('bob');
    expect(await page.$eval('dialog table', ({ textContent }) => textContent)).not.toContain(ip);
    await tabTo(page, `Undo the exception of ${masked(ip)}, login`);
    await page.keyboard.press('Enter');
    await tabTo(page, 'Undo');
    await page.keyboard.press('Enter');
    await page.waitForFunction(`document.querySelector('#outcomes').textContent.includes('has ended')`);
    await dialogHas('None.');
    const policy = async () => (await other.getFrom(ip, '/login')).headers['ratelimit-policy'];
    await until(async () => (await policy()) === '"login";q=3;w=3600', 'the end of the exception', 60_000);
  });

  it.each(LOOKS)(
    'lists all blocks and exceptions by name for a reader with the right to see them: %p',
    async (look) => {
      const ip = `198.51.100.${nextIp++}`;
      await limits().rules.setException('login', ip, { limit: 50 }, { by: 'bob', reason: 'a partner' });
      const page = await open(look);
      await press(page, 'Find a subject');
      await dialogHas('a partner');
      await dialogHas(masked(ip));
      expect(await page.evaluate('document.body.textContent')).not.toContain(ip);
      await page.locator('dialog ::-p-aria([name="Show subjects"][role="button"])').click();
      await dialogHas(ip);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    },
  );

  it('shows what changed in all rules, from what to what, and undoes one change, by the keyboard alone', async () => {
    const { rules } = limits();
    await rules.set('login', { limit: 7 }, { by: 'bob', reason: 'a sale', expires: '1h' });
    await rules.set('login', { limit: 1 }, { by: 'eve', reason: 'by mistake' });
    const page = await open();
    await page.waitForSelector('.chart .mark');
    await tabTo(page, 'What changed');
    await page.keyboard.press('Enter');
    await dialogHas('by mistake');
    const rows = await page.$$eval('dialog tbody tr', (all) =>
      all.slice(0, 2).map(({ cells }) => [...cells].slice(1, 5).map(({ textContent }) => textContent)),
    );
    expect(rows).toEqual([
      ['eve', 'login', 'limit 7', 'limit 1'],
      ['bob', 'login', 'as in the code', 'limit 7'],
    ]);
    for (;;) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement.ariaLabel?.startsWith('Undo login')`)) break;
    }
    await page.keyboard.press('Enter');
    await tabTo(page, 'Reason');
    await page.keyboard.type('too low');
    await page.keyboard.press('Enter');
    await dialogHas('too low');
    expect(await rules.get('login')).toMatchObject({ fields: { limit: 7 }, reason: 'too low' });
    await rules.unset('login', { by: 'bob' });
  });

  it.each(LOOKS)('shows what changed without serious findings of axe-core: %p', async (look) => {
    await limits().rules.set('export', { limit: 3 }, { by: 'bob', reason: 'a longer reason than usual' });
    const page = await open(look);
    await press(page, 'What changed');
    await dialogHas('a longer reason');
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  });

  it('shows after FLUSHALL which rules are in force, what was lost and when, and accepts the loss', async () => {
    const redis = await startRedisServer();
    const flushed = new Redis(redis.url);
    try {
      const liveRules = new RedisRuleSource({ redis: redis.url });
      const losing = await startDashboardApp('rl:', {}, 'express', { redis: redis.url, liveRules });
      const { rules } = losing.app.get(RateLimitService);
      await rules.set('login', { limit: 2 }, { by: 'ops' });
      await rules.setException('login', '203.0.113.7', 'deny', { by: 'ops' });
      const page = await open({ width: 390 }, '', losing.url);
      await flushed.flushall();
      await page.waitForSelector('#loss:not([hidden])');
      expect(await page.$eval('#loss [role="status"]', ({ textContent }) => textContent)).toMatch(
        /\d{4}, \d\d:\d\d: Redis has no version of live rules any more\. The last rules stay in force\.$/,
      );
      const texts = await page.$$eval('#loss ul', (lists) => lists.map(({ textContent }) => textContent));
      expect(texts).toEqual([`login {"limit":2}login, ${masked('203.0.113.7')} deny`, '']);
      expect((await losing.getFrom('203.0.113.8', '/login')).headers['ratelimit-policy']).toContain('q=2');
      expect(await seriousFindings(page)).toEqual([]);
      await press(page, 'Accept the source');
      await page.locator('dialog .danger').click();
      await page.waitForSelector('#loss', { hidden: true });
      expect([rules.loss, await rules.get('login')]).toEqual([undefined, undefined]);
      await page.close();
      await losing.close();
    } finally {
      flushed.disconnect();
      await redis.stop();
    }
  });

  it('keeps order and filter in the address, so that a link opens the same rules', async () => {
    const page = await open();
    await press(page, 'Rule');
    await page.locator('.filter').fill('log');
    const sorted = `document.querySelector('#rules [aria-sort]').textContent`;
    await page.waitForFunction(`location.search === '?order=rule&filter=log' && ${sorted} === 'Rule'`);
    const link = new URL(page.url()).search;
    await page.browserContext().close();
    const again = await open({}, link);
    await again.waitForFunction(`document.querySelectorAll('#rules > tbody').length === 1`);
    expect(await again.evaluate(`[document.querySelector('.filter').value, ${sorted}]`)).toEqual([
      'log',
      'Rule',
    ]);
    await press(again, 'Denied/s');
    await again.focus('.filter');
    await again.evaluate('document.activeElement.select()');
    await again.keyboard.press('Backspace');
    await again.waitForFunction(`location.search === ''`);
  });

  it('has the denied rule on top of 300 at each load, and the state of the system before them on a phone', async () => {
    const rules = Object.fromEntries(
      Array.from({ length: 300 }, (_, nth) => [`a${nth}`, { window: '1h', limit: 1, by: 'ip' }]),
    ) as NonNullable<RateLimitModuleOptions['onDemand']>;
    const many = await startDashboardApp(uniquePrefix(), {}, 'express', { onDemand: rules });
    const isDenied = async () => (await many.getFrom('192.0.2.1', '/login')).status === 429;
    await until(isDenied, 'a denial', 60_000);
    const denials = setInterval(() => void isDenied(), 200);
    try {
      const page = await open({ width: 390, height: 800 }, '', many.url);
      await page.waitForFunction(
        `document.querySelectorAll('#rules > tbody').length > 300 && document.querySelector('#rules .toggle').textContent === 'login'`,
      );
      const top = (selector: string) => page.$eval(selector, (each) => each.getBoundingClientRect().top);
      for (const title of ['#processes-title', '#store-title'])
        expect(await top(title)).toBeLessThan(await top('#rules-title'));
      expect(await seriousFindings(page)).toEqual([]);
    } finally {
      clearInterval(denials);
    }
  });

  it('states in a preview the recorded requests and their share of the subjects, and what the rule in force would have denied', async () => {
    const bulk = { window: '1h', limit: 1, by: 'ip', algorithm: 'gcra' } as const;
    const { app: full, url } = await startDashboardApp(uniquePrefix(), {}, 'express', { onDemand: { bulk } });
    const consume = (nth: number) =>
      full.get(RateLimitService).consume('bulk', `10.0.${nth >> 8}.${nth & 255}`);
    const page = await open({}, '', url);
    const effect = async (limit: number) => {
      await page.locator('#field-limit').fill(String(limit));
      const text = `document.querySelector('.effect').textContent`;
      await page.waitForFunction(`${text}.startsWith('Recorded') && ${text}.includes('would have denied')`);
      return String(await page.evaluate(text));
    };
    for (let nth = 0; nth < 100; nth += 1) await Promise.all([consume(nth), consume(nth)]);
    await expand(page, 'bulk');
    await press(page, 'Edit bulk');
    expect(await effect(2)).toMatch(
      /^Recorded: 200 requests of 100 subjects in \d+ s, 100 denied\. The rule in force would have denied 100 of them; this change would have denied 0\.$/,
    );
    await press(page, 'Cancel');
    for (let first = 100; first < 9000; first += 100)
      await Promise.all(Array.from({ length: 200 }, (_, nth) => consume(first + (nth >> 1))));
    await press(page, 'Edit bulk');
    const [, part, requests, recorded] =
      /^Recorded \(1 subject in (\d+)\): ([\d,]+) requests of .* s, ([\d,]+) denied\./.exec(
        await effect(2),
      ) ?? [];
    expect([2, 4, 8]).toContain(Number(part));
    expect(2 * Number(recorded!.replace(',', ''))).toBe(Number(requests!.replace(',', '')));
  });
});
