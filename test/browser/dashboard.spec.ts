import { Redis } from 'ioredis';
import type { Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { masked } from '../../lib/dashboard/collect/masked.js';
import { startProxy } from '../support/redis/proxy.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look, type Watched } from './chromium.js';
import { HOSTILE_RULE, PASS, startDashboardApp, type DashboardApp } from './dashboard-app.js';
import { expand, live, press, rowsOf, ruleRows, tabTo } from './page-parts.js';

const WAIT = 60_000;

/** Subjects that would do harm as HTML, or deceive the reader as text, and what the page shows. */
const HOSTILE = [
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['</td></table><script>alert(1)</script>', '</td></table><script>alert(1)</script>'],
  ['"><svg onload=alert(1)>', '"><svg onload=alert(1)>'],
  ['&lt;b&gt;', '&lt;b&gt;'],
  ['javascript:alert(1)', 'javascript:alert(1)'],
  ['admin\u202egpj.exe', 'admin\\u{202e}gpj.exe'],
  ['\u2066\u200fhidden\u2069', '\\u{2066}\\u{200f}hidden\\u{2069}'],
  ['two\nlines\u0000\u007f', 'two\\u{a}lines\\u{0}\\u{7f}'],
  ['שלום 👩🏽 日本', 'שלום 👩🏽 日本'],
] as const;

describe('the operations page', () => {
  let chromium: Chromium;
  let app: DashboardApp;
  let other: DashboardApp;
  let opened: Watched | undefined;
  /** Errors in the console that a test provokes. */
  let expected: RegExp | undefined;
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
    const { page, errors, hosts } = opened ?? {};
    await page?.browserContext().close();
    const unexpected = errors?.filter((error) => !expected?.test(error));
    opened = expected = undefined;
    expect(unexpected ?? []).toEqual([]);
    expect(hosts?.size ?? 1).toBe(1);
  });

  async function open(look: Look = {}, url = app.url) {
    opened = await chromium.open(url, { headers: PASS, ...look });
    await live(opened.page);
    await press(opened.page, 'Show subjects');
    return opened.page;
  }

  /** Sends requests of a new client until one is denied. Returns its IP. */
  async function denied(path = '/login'): Promise<string> {
    const ip = `203.0.113.${nextIp++}`;
    await until(async () => (await other.getFrom(ip, path)).status === 429, 'a denial', WAIT);
    return ip;
  }

  it('shows a denial in another process within two seconds', async () => {
    const page = await open();
    const rows = await expand(page, 'login');
    const took: number[] = [];
    // The best of five attempts, because other programs slow the machine down.
    while (took.length < 5 && !took.some((ms) => ms < 2000)) {
      const ip = await denied();
      const from = performance.now();
      await page.waitForFunction(`${rowsOf('login')}.textContent.includes(${JSON.stringify(ip)})`, {
        polling: 20,
      });
      await page.waitForFunction(`${rowsOf('login')}.querySelector('td.denied').textContent !== '0'`);
      took.push(performance.now() - from);
    }
    process.stderr.write(`operations page: a denial is shown after ${took.map(Math.round).join(', ')} ms\n`);
    expect(Math.min(...took)).toBeLessThan(2000);
    await page.waitForFunction(`document.querySelector('#total-denied').textContent !== '0'`);
    expect(await rows.$eval('.sparkline .denied', (path) => path.getAttribute('d'))).not.toBe('');
  });

  it('announces denials to screen readers, at most every 15 seconds', async () => {
    const page = await open();
    await page.evaluate(`
      window.announced = [];
      window.snapshots = 0;
      const region = document.querySelector('#announcements');
      const watch = (node, options, seen) => new MutationObserver(seen).observe(node, { subtree: true, ...options });
      watch(region, { childList: true }, () => announced.push([performance.now(), region.textContent]));
      watch(document.querySelector('#chart path.denied'), { attributes: true }, () => snapshots++);
    `);
    await denied();
    await page.waitForFunction(`announced.some(([, text]) => text.startsWith('Denied'))`);
    await denied();
    // Denials are counted two seconds later.
    const before = Number(await page.evaluate('snapshots'));
    await page.waitForFunction(`snapshots > ${before + 4}`);
    const all = (await page.evaluate('announced')) as [number, string][];
    const announced = all.filter(([, text]) => text !== 'Live'); // the state of the connection
    expect(announced[0]![1]).toMatch(/^Denied requests: login \d+\.$/);
    const gaps = announced.slice(1).map(([at], index) => at - announced[index]![0]);
    expect(gaps.filter((ms) => ms < 14_000)).toEqual([]);
  });

  it('changes a limit by the keyboard alone, which another process obeys', async () => {
    const page = await open();
    await ruleRows(page, 'login');
    await tabTo(page, 'login');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Edit login');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    await focused(page, 'limit');
    await page.keyboard.type('4');
    await tabTo(page, 'Reason');
    await page.keyboard.type('more logins');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog', { hidden: true });
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Edit login');

    const policy = async () => (await other.getFrom('198.51.100.1', '/login')).headers['ratelimit-policy'];
    await until(async () => (await policy()) === '"login";q=4;w=3600', 'the other process to obey', WAIT);
    await page.waitForFunction(
      `${rowsOf('login')}.querySelector('.summary').textContent.startsWith('4 per 1h')`,
    );
    await page.waitForFunction(
      `${rowsOf('login')}.querySelector('.change').textContent.includes('more logins')`,
    );

    await press(page, 'History of login');
    const record = await page.waitForSelector('dialog tbody tr');
    expect(await record!.evaluate(({ textContent }) => textContent)).toMatch(
      /operations page.*limit 4.*more logins/,
    );
  });

  it('states which fields of a rule differ by route', async () => {
    const page = await open();
    await expand(page, 'export');
    await page.waitForFunction(
      `${rowsOf('export')}.querySelector('.summary').textContent.endsWith('differs by route')`,
    );
    await page.waitForFunction(`${rowsOf('export')}.textContent.includes('2; differs by route')`);
  });

  it('states why a rule has no preview before a field is changed', async () => {
    const page = await open();
    await expand(page, 'export');
    await press(page, 'Edit export');
    const effect = await page.waitForSelector('.effect');
    expect(await effect!.evaluate(({ textContent }) => textContent)).toBe(
      'A change of this rule has no preview: its requests wait for permits, and their arrival is not recorded.',
    );
  });

  it('shows what a change would have denied before it is saved', async () => {
    await denied();
    const page = await open();
    await expand(page, 'login');
    await press(page, 'Edit login');
    await page.locator('#field-limit').fill('1');
    await page.waitForFunction(
      `/would have denied [1-9]/.test(document.querySelector('.effect').textContent)`,
    );
    await page.locator('#field-limit').fill('many');
    await page.waitForFunction(`/limit.*many.*allowed/.test(document.querySelector('.problem').textContent)`);
    expected = /422/;
  });

  it('shows the rules on Fastify as well', async () => {
    const page = await open({}, other.url);
    await expand(page, 'login');
    expect(new URL(page.url()).pathname).toMatch(/^\/rate-limits\//);
  });

  it('shows the message of the server about a wrong limit, and does not save it', async () => {
    expected = /422/;
    const page = await open();
    await expand(page, 'login');
    await press(page, 'Edit login');
    await page.locator('#field-limit').fill('many');
    await press(page, 'Save');
    await page.waitForFunction(`/limit.*many.*allowed/.test(document.querySelector('.problem').textContent)`);
    expect(await page.$('dialog[open]')).not.toBeNull();
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { hidden: true });
  });

  it('resets a subject after a confirmation', async () => {
    const page = await open();
    const ip = await denied();
    await expand(page, 'login');
    await press(page, `Reset ${ip}`);
    await page.waitForSelector('dialog[open]');
    await press(page, 'Cancel');
    await page.waitForSelector('dialog', { hidden: true });
    expect((await other.getFrom(ip, '/login')).status).toBe(429);

    await press(page, `Reset ${ip}`);
    await press(page, 'Reset');
    await page.waitForFunction(`document.querySelector('#outcomes').textContent.includes('was reset')`);
    await until(async () => (await other.getFrom(ip, '/login')).status === 200, 'the permits', WAIT);
  });

  it('keeps the focus and the order of subjects while the list has the focus', async () => {
    const page = await open();
    await expand(page, 'login');
    const [first, second] = [await denied(), await denied()];
    const deny = async (ip: string, times: number) => {
      for (let n = 0; n < times; n += 1) await other.getFrom(ip, '/login');
    };
    const order = `[...document.querySelectorAll('.subjects tbody bdi')].map((each) => each.textContent).filter((each) => ['${first}', '${second}'].includes(each)).join()`;
    await deny(first, 9);
    await deny(second, 6);
    await page.waitForFunction(`${order} === '${first},${second}'`);
    await page.focus(`[aria-label="Reset ${second}"]`);
    await deny(second, 9);
    const row = `document.querySelector('[aria-label="Reset ${second}"]').closest('tr')`;
    await page.waitForFunction(`Number(${row}.querySelector('td').textContent) >= 16`);
    expect(await page.evaluate(order)).toBe(`${first},${second}`);
    expect(await page.evaluate(`document.activeElement.ariaLabel`)).toBe(`Reset ${second}`);
    await page.evaluate(`document.activeElement.blur()`);
    await page.waitForFunction(`${order} === '${second},${first}'`);
  });

  it('shows lost live rules without serious findings of axe-core, and restores them after a confirmation', async () => {
    const prefix = uniquePrefix();
    const losing = await startDashboardApp(prefix);
    await losing.app.get(RateLimitService).rules.set('login', { limit: 2 }, { by: 'ops' });
    const page = await open({}, losing.url);
    expect(await page.$('#loss:not([hidden])')).toBeNull();
    const redis = new Redis(redisUrl());
    await redis.del(`{${prefix}rules}`, `{${prefix}rules}:version`, `{${prefix}rules}:history`);
    redis.disconnect();
    await page.waitForSelector('#loss:not([hidden])');
    const texts = await page.$$eval('#loss ul', (lists) => lists.map(({ textContent }) => textContent));
    expect(texts).toEqual(['login {"limit":2}', '']);
    expect(await seriousFindings(page)).toEqual([]);
    await press(page, 'Restore the rules in force');
    await page.waitForSelector('dialog[open]');
    expect(await seriousFindings(page)).toEqual([]);
    await page.locator('dialog .danger').click();
    await page.waitForSelector('#loss', { hidden: true });
    expect(losing.app.get(RateLimitService).rules.loss).toBeUndefined();
  });

  it('masks subjects until a reader with the right to see them shows them, and the log has who did', async () => {
    const ip = await denied();
    const page = await open();
    await expand(page, 'login');
    const shows = (text: string) =>
      page.waitForFunction(`${rowsOf('login')}.querySelector('[aria-label="Reset ${text}"]')`);
    await shows(ip);
    expect(await seriousFindings(page)).toEqual([]);
    await press(page, 'Show subjects');
    await shows(masked(ip));
    expect(await page.evaluate('document.body.textContent')).not.toContain(ip);
    const lines = [app, other].flatMap(({ logs }) => logs.ours()).map(({ message }) => message); // Nest has one logger.
    expect(lines.filter((line) => line.includes('"operations page" has seen'))).not.toEqual([]);
    expect(lines.join()).not.toContain(ip);
  });

  it('keeps subjects masked for a reader without the right to see them, and states why', async () => {
    expected = /403/;
    const ip = await denied();
    opened = await chromium.open(app.url, { headers: { ...PASS, 'x-privacy': 'no' } });
    const { page } = opened;
    await live(page);
    await expand(page, 'login');
    await page.waitForSelector('.subjects tbody tr');
    await press(page, 'Show subjects');
    await page.waitForFunction(`document.querySelector('#failures').textContent.includes('Forbidden')`);
    expect(await page.evaluate('document.body.textContent')).not.toContain(ip);
    expect(await page.$('[aria-pressed="true"]')).toBeNull();
  });

  it('blocks a subject after a confirmation', async () => {
    const page = await open();
    const ip = await denied();
    await expand(page, 'login');
    await press(page, `Block ${ip}`);
    await press(page, 'Block');
    await page.waitForFunction(
      `document.querySelector('#outcomes').textContent.includes('is blocked for 10 minutes')`,
    );
    const { status, body } = await app.getFrom(ip, '/login');
    expect([status, JSON.stringify(body)]).toEqual([429, expect.stringContaining('login')]);
    await page.waitForFunction(`document.body.textContent.includes('Exceptions of 1 subject')`);
  });

  it('has no buttons that change something when it is read-only', async () => {
    const actions = [{ id: 'traffic', label: 'Send traffic', run: () => undefined }];
    const readOnly = await startDashboardApp(uniquePrefix(), { readOnly: true, actions });
    await until(async () => (await readOnly.getFrom('192.0.2.1', '/login')).status === 429, 'a denial', WAIT);
    const page = await open({}, readOnly.url);
    const rows = await expand(page, 'login');
    await rows.waitForSelector('.subjects tbody tr');
    const texts = await page.$$eval('button', (buttons) => buttons.map(({ textContent }) => textContent));
    expect(texts.filter((text) => /Edit|Reset|Block|Send/.test(text))).toEqual([]);
  });

  it('shows hostile subjects and rule names as text', async () => {
    const page = await open();
    for (const [subject] of HOSTILE) {
      const headers = { 'x-client': encodeURIComponent(subject) };
      await until(async () => (await app.get('/hostile', headers)).status === 429, 'a denial', WAIT);
    }
    const rows = await expand(page, HOSTILE_RULE);
    for (const [, shown] of HOSTILE) {
      await page.waitForFunction(
        `[...${rowsOf(HOSTILE_RULE)}.querySelectorAll('.subjects bdi')].some((each) => each.textContent === ${JSON.stringify(shown)})`,
      );
    }
    expect(await page.$$('img, iframe, main script, svg[onload]')).toEqual([]);
    await (await rows.$('.subjects .operations button'))!.click();
    await page.waitForSelector('dialog[open]');
    expect(await page.$$('dialog img, dialog script')).toEqual([]);
  });

  it('states that the connection is lost, and continues when it is back', async () => {
    expected = /ERR_|Failed to load/;
    const proxy = await startProxy({ host: '127.0.0.1', port: app.port });
    const page = await open({}, `http://127.0.0.1:${proxy.port}/rate-limits`);
    proxy.each((connection) => connection.reset());
    await page.waitForFunction(`document.querySelector('#connection-text').textContent === 'Reconnecting…'`);
    expect(await page.$eval('#origin', ({ textContent }) => textContent)).toBe(
      'The application cannot be reached.',
    );
    proxy.each(() => undefined);
    await live(page);
    await proxy.close();
  });

  it('is refused without the pass of the guard', async () => {
    expected = /403/;
    opened = await chromium.open(app.url);
    const { page } = opened;
    expect(await page.evaluate('document.body.textContent')).toContain('Forbidden');
    const status = (path: string, init: object) =>
      page.evaluate(`fetch('/rate-limits/${path}', ${JSON.stringify(init)}).then(({ status }) => status)`);
    const headers = { 'content-type': 'application/json', 'x-rate-limit-dashboard': '1' };
    const body = JSON.stringify({ rule: 'login', fields: { limit: 9 }, version: 0 });
    expect(await status('rules/set', { method: 'POST', headers, body })).toBe(403);
    for (const path of ['events', 'snapshot', 'history', 'page.js']) expect(await status(path, {})).toBe(403);
  });

  it('states that access is missing when the guard refuses a page that is open', async () => {
    expected = /403|ERR_|Failed to load/;
    const proxy = await startProxy({ host: '127.0.0.1', port: app.port });
    const page = await open({}, `http://127.0.0.1:${proxy.port}/rate-limits`);
    await page.setExtraHTTPHeaders({});
    proxy.connections.forEach((connection) => connection.reset());
    await page.waitForFunction(`document.querySelector('#connection-text').textContent === 'No access'`);
    await proxy.close();
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('axe-core finds nothing serious in the %s page of %i pixels', async (scheme, width) => {
    await denied();
    const page = await open({ scheme, width, height: 800 });
    await expand(page, 'login');
    await page.waitForSelector('.subjects:not([hidden])');
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await press(page, 'Edit login');
    await page.waitForSelector('dialog[open]');
    expect(await seriousFindings(page)).toEqual([]);
  });
});

/** Waits until the input with a label has the focus, and selects its text. */
async function focused(page: Page, label: string): Promise<void> {
  await page.waitForFunction(`document.activeElement.labels?.[0]?.textContent === ${JSON.stringify(label)}`);
  await page.evaluate('document.activeElement.select()');
}
