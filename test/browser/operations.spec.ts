import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { masked } from '../../lib/dashboard/subjects/masked.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look, type Watched } from './chromium.js';
import { PASS, startDashboardApp, type DashboardApp } from './dashboard-app.js';
import { live, press, tabTo } from './page-parts.js';

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

  async function open(look: Look = {}, query = '') {
    opened = await chromium.open(`${app.url}${query}`, { headers: PASS, ...look });
    await live(opened.page);
    return opened.page;
  }

  async function denied(): Promise<string> {
    const ip = `203.0.113.${nextIp++}`;
    await until(async () => (await other.getFrom(ip, '/login')).status === 429, 'a denial', 60_000);
    return ip;
  }

  const limits = () => other.app.get(RateLimitService);
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
});
