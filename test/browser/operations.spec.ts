import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RateLimitModuleOptions } from '../../lib/index.js';
import { masked } from '../../lib/dashboard/collect/masked.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { stopPrograms } from '../readme/node-program.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look, type Watched } from './chromium.js';
import { PASS } from './dashboard-app.js';
import { startDashboardProcess, type DashboardProcess } from './dashboard-process.js';
import { expand, live, press, rowsOf, tabTo } from './page-parts.js';

const LOOKS = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 1280 },
  { scheme: 'light', width: 390 },
  { scheme: 'dark', width: 390 },
  { scheme: 'light', width: 640, height: 400 }, // 200 % of 1280 x 800
] as const;

describe('the operations page during an incident', () => {
  let chromium: Chromium;
  let app: DashboardProcess;
  let other: DashboardProcess;
  let opened: Watched | undefined;
  /** Errors in the console that a test provokes. */
  let expected: RegExp | undefined;
  let nextIp = 1;

  beforeAll(async () => {
    chromium = await startChromium();
    const prefix = uniquePrefix();
    const onDemand = {
      mail: { window: '1h', limit: 9, by: 'user', block: 'manual' },
      tokens: { window: 'month', limit: 100, algorithm: 'fixed-window', alerts: [0.8, 1] },
    } as const;
    [app, other] = await Promise.all([
      startDashboardProcess({ prefix, onDemand }),
      startDashboardProcess({ prefix, onDemand, framework: 'fastify' }),
    ]);
  }, 120_000);

  afterAll(async () => {
    await chromium.close();
    await stopPrograms();
  });

  afterEach(async () => {
    const { page, errors } = opened ?? {};
    await page?.browserContext().close();
    const unexpected = errors?.filter((error) => !expected?.test(error));
    opened = expected = undefined;
    expect(unexpected ?? []).toEqual([]);
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

  const dialogHas = (text: string) =>
    opened!.page.waitForFunction(
      `document.querySelector('dialog[open]')?.textContent.includes(${JSON.stringify(text)})`,
    );

  it('finds a blocked subject that is quiet, as a person writes it, and lifts its block, by the keyboard alone', async () => {
    const ip = await denied();
    const by = { by: 'bob', reason: 'a scraper', expires: '1h' };
    await app.operate(['rules.setException', 'login', ip, 'deny', by]);
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

  it('shows who has blocked a subject and why, also if a program of another process has, and lifts the block', async () => {
    const by = { by: 'fraud detection', reason: 'stolen cards' };
    await other.operate(['block', 'mail', 'ann@example.com', '1h', by]);
    const page = await open({ width: 390 });
    await press(page, 'Find a subject');
    await page.locator('#subject').fill('ann@example.com');
    const isListed = async () => {
      await press(page, 'Find');
      const text = await page.$eval('dialog', ({ textContent }) => textContent);
      return /fraud detectionstolen cards/.test(text ?? '');
    };
    await until(isListed, 'the block', 60_000);
    await press(page, `Undo the block of ${masked('ann@example.com')}, mail`);
    await press(page, 'Undo');
    await dialogHas('None.');
    expect(await other.operate(['consume', 'mail', 'ann@example.com'])).toMatchObject([{ allowed: true }]);
  });

  it('lists the customers of all processes that have used most of their budget, masked', async () => {
    await other.operate(['consume', 'tokens', 'ann@example.com', { cost: 85 }]);
    const page = await open({ width: 390 });
    const isListed = async () => {
      await press(page, 'Find a subject');
      await dialogHas('All blocks and exceptions');
      const text = await page.$eval('dialog', ({ textContent }) => textContent);
      if (/Subjects above a threshold.*tokens, above 80 %15 of 100/.test(text ?? '')) return true;
      await page.keyboard.press('Escape');
      return false;
    };
    await until(isListed, 'the customer', 60_000);
    await dialogHas(masked('ann@example.com'));
    expect(await page.evaluate('document.body.textContent')).not.toContain('ann@example.com');
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await press(page, `Reset ${masked('ann@example.com')}`);
    await press(page, 'Reset');
    await page.waitForFunction(`!document.querySelector('dialog').textContent.includes('above 80')`);
  });

  it.each(LOOKS)(
    'lists all blocks and exceptions by name for a reader with the right to see them: %p',
    async (look) => {
      const ip = `198.51.100.${nextIp++}`;
      const by = { by: 'bob', reason: 'a partner' };
      await app.operate(['rules.setException', 'login', ip, { limit: 50 }, by]);
      const page = await open(look);
      await press(page, 'Find a subject');
      await dialogHas('a partner');
      await dialogHas(masked(ip));
      expect(await page.evaluate('document.body.textContent')).not.toContain(ip);
      await page.locator('dialog ::-p-aria([name="Show subjects"][role="button"])').click();
      await dialogHas(ip);
      const undo = await page.$('dialog .operations button');
      expect(await undo!.isIntersectingViewport({ threshold: 1 })).toBe(true);
      const heights = await page.$eval('dialog td.operations', (cell) => {
        return [cell, cell.parentElement!].map((each) => each.getBoundingClientRect().height);
      });
      expect(heights[0]).toBe(heights[1]); // It covers what it is above.
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    },
  );

  it('shows what changed in all rules, from what to what, and undoes one change, by the keyboard alone', async () => {
    const set = (limit: number, options: object) => app.operate(['rules.set', 'login', { limit }, options]);
    await set(7, { by: 'bob', reason: 'a sale', expires: '1h' });
    await set(1, { by: 'eve', reason: 'by mistake' });
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
    expect(await other.operate(['rules.get', 'login'])).toMatchObject([
      { fields: { limit: 7 }, reason: 'too low' },
    ]);
    await app.operate(['rules.unset', 'login', { by: 'bob' }]);
  });

  it('draws the last hour of a rule, with its changes marked', async () => {
    await denied();
    await app.operate(['rules.set', 'login', { limit: 4 }, { by: 'bob' }]);
    const page = await open();
    const rows = await expand(page, 'login');
    await rows.waitForSelector('.hour .mark');
    await page.waitForFunction(
      `/^login: Requests of the last hour: \\d+ allowed, [1-9]/.test(${rowsOf('login')}.querySelector('.hour').ariaLabel)`,
    );
    const bars = (of: string) => rows.$eval(`.hour path.${of}`, (path) => path.getAttribute('d'));
    expect([await bars('allowed'), await bars('denied')]).toEqual([
      expect.stringMatching(/^(M[\d.]+ [\d.]+h[\d.]+v-[\d.]+h-[\d.]+z)+$/),
      expect.stringMatching(/^(M[\d.]+ [\d.]+h[\d.]+v[\d.]+h-[\d.]+z)+$/),
    ]);
    await page.hover('#rules .hour .mark');
    await page.waitForFunction(`/login changed by bob/.test(${rowsOf('login')}.textContent)`);
    await app.operate(['rules.unset', 'login', { by: 'bob' }]);
  });

  it.each(LOOKS)('shows what changed without serious findings of axe-core: %p', async (look) => {
    const by = { by: 'bob', reason: 'a longer reason than usual' };
    await app.operate(['rules.set', 'export', { limit: 3 }, by]);
    const page = await open(look);
    await press(page, 'What changed');
    await dialogHas('a longer reason');
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  });

  it.each([
    ['FLUSHALL', (_: RedisServer, redis: Redis) => redis.flushall()],
    ['SWAPDB', (_: RedisServer, redis: Redis) => redis.swapdb(0, 1)],
    ['a restart without persistence', (server: RedisServer) => server.restart()],
  ])(
    'shows after %s which rules are in force, what was lost and when, and accepts the loss in all processes',
    async (_name, lose) => {
      const server = await startRedisServer();
      const redis = new Redis(server.url);
      const start = () => startDashboardProcess({ redis: server.url, prefix: 'rl:' });
      const [one, two] = await Promise.all([start(), start()]);
      try {
        await two.operate(
          ['rules.set', 'login', { limit: 2 }, { by: 'ops' }],
          ['rules.setException', 'login', '203.0.113.7', 'deny', { by: 'ops' }],
        );
        const page = await open({ width: 390 }, '', one.url);
        await page.waitForFunction(`document.body.textContent.includes('2 per 1h')`);
        expected = /503/; // The history cannot be read while Redis starts.
        await lose(server, redis);
        await page.waitForSelector('#loss:not([hidden])');
        expect(await page.$eval('#loss [role="status"]', ({ textContent }) => textContent)).toMatch(
          /\d{4}, \d\d:\d\d: Redis has no version of live rules any more\. The last rules stay in force\.$/,
        );
        const texts = await page.$$eval('#loss ul', (lists) => lists.map(({ textContent }) => textContent));
        expect(texts).toEqual([`login {"limit":2}login, ${masked('203.0.113.7')} deny`, '']);
        const left = (selector: string) => page.$eval(selector, (each) => each.getBoundingClientRect().left);
        expect(await left('#loss')).toBe(await left('.rules'));
        for (const each of [one, two]) {
          const policy = (await each.getFrom('203.0.113.8', '/login')).headers['ratelimit-policy'];
          expect(policy).toContain('q=2');
        }
        expect(await seriousFindings(page)).toEqual([]);
        await press(page, 'Accept the source');
        await page.locator('dialog .danger').click();
        await page.waitForSelector('#loss', { hidden: true });
        expect(await one.operate(['rules.get', 'login'])).toEqual([null]);
        const isAccepted = async () =>
          (await two.getFrom('203.0.113.8', '/login')).headers['ratelimit-policy']?.includes('q=3') ?? false;
        await until(isAccepted, 'the other process to accept', 60_000);
        await page.close();
      } finally {
        redis.disconnect();
        await Promise.all([one, two].map(({ program }) => program.stop()));
        await server.stop();
      }
    },
  );

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
    const prefix = uniquePrefix();
    const many = await startDashboardProcess({ prefix, onDemand: rules });
    const page = await open({ width: 390, height: 800 }, '', many.url);
    const busy = await startDashboardProcess({ prefix, onDemand: rules });
    const isDenied = async () => (await busy.getFrom('192.0.2.1', '/login')).status === 429;
    await until(isDenied, 'a denial', 60_000);
    const denials = setInterval(() => void isDenied(), 200);
    try {
      await page.reload();
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
    const options = { prefix: uniquePrefix(), onDemand: { bulk } };
    const [full, idle] = [await startDashboardProcess(options), await startDashboardProcess(options)];
    /** Each of 100 subjects consumes twice. */
    const consume = (first: number) => {
      const subjects = Array.from({ length: 200 }, (_, nth) => first + (nth >> 1));
      return full.operate(
        ...subjects.map((nth) => ['consume', 'bulk', `10.0.${nth >> 8}.${nth & 255}`] as const),
      );
    };
    const page = await open({}, '', idle.url);
    const effect = async (limit: number) => {
      await page.locator('#field-limit').fill(String(limit));
      const text = `document.querySelector('.effect').textContent`;
      await page.waitForFunction(`${text}.startsWith('Recorded') && ${text}.includes('would have denied')`);
      return String(await page.evaluate(text));
    };
    await consume(0);
    await expand(page, 'bulk');
    await press(page, 'Edit bulk');
    expect(await effect(2)).toMatch(
      /^Recorded: 200 requests of 100 subjects in \d+ s, 100 denied\. The rule in force would have denied 100 of them; this change would have denied 0\.$/,
    );
    await press(page, 'Cancel');
    for (let first = 100; first < 9000; first += 100) await consume(first);
    await press(page, 'Edit bulk');
    const [, part, requests, recorded] =
      /^Recorded \(1 subject in (\d+)\): ([\d,]+) requests of .* s, ([\d,]+) denied\./.exec(
        await effect(2),
      ) ?? [];
    expect([2, 4, 8]).toContain(Number(part));
    expect(2 * Number(recorded!.replace(',', ''))).toBe(Number(requests!.replace(',', '')));
  });
});
