import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'puppeteer-core';
import { stopPrograms } from '../readme/node-program.js';
import { startSampleApp } from '../readme/sample-app.js';
import { startDashboard } from '../dashboard/dashboard-app.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look } from './chromium.js';
import { live } from './page-parts.js';

/** Whether the list of processes has the focus, so that the arrow keys scroll it. */
const FOCUSED = `document.activeElement.matches('.scrolled')`;

let chromium: Chromium;
let server: RedisServer;

beforeAll(async () => {
  chromium = await startChromium();
}, 120_000);

afterEach(async () => {
  await closeApps();
  await stopPrograms();
  await server.stop();
});

afterAll(() => chromium.close());

/** Starts a process with the page, and a second one that has counted requests. */
async function startTwo() {
  server = await startRedisServer();
  const app = await startDashboard({ limits: { redis: server.url, prefix: 'w:', timeout: 5000 } });
  const variables = { REDIS_URL: server.url, RATE_LIMIT_PREFIX: 'w:', RATE_LIMIT_TIMEOUT: '5000' };
  const other = await startSampleApp(variables);
  for (let nth = 0; nth < 9; nth += 1) await fetch(`${other.origin}/login`, { method: 'POST' });
  return { app, other };
}

async function open(port: number, look: Look = {}): Promise<Page> {
  const { page } = await chromium.open(`http://127.0.0.1:${port}/rate-limits`, look);
  await live(page);
  return page;
}

const counted = (page: Page, text: RegExp) =>
  page.waitForFunction(`${String(text)}.test(document.querySelector('#hour').ariaLabel)`);

describe('the operations page in bad weather', () => {
  it('names a stopped process at the top, in red, and keeps what it has counted, on a phone as well', async () => {
    const { app, other } = await startTwo();
    const page = await open(app.port);
    await counted(page, /5 allowed, 4 denied/);
    process.kill(other.program.pid, 'SIGSTOP');
    await page.waitForFunction(
      `/ report: \\S+ ${other.program.pid} silent since \\d/.test(document.querySelector('#problems').textContent)`,
    );
    await counted(page, /5 allowed, 4 denied/);
    const row = await page.waitForSelector('.processes tr.silent .bad');
    expect(await row!.evaluate(({ textContent }) => textContent)).toMatch(/^silent since/);
    expect(await seriousFindings(page)).toEqual([]);
    for (let presses = 0; presses < 20 && !(await page.evaluate(FOCUSED)); presses += 1)
      await page.keyboard.press('Tab');
    expect(await page.evaluate(FOCUSED)).toBe(true);
    await page.setViewport({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    process.kill(other.program.pid, 'SIGCONT');
    await page.waitForFunction(`!document.querySelector('.processes tr.silent')`);
  });

  it('keeps what was known of all processes in grey while Redis is down, in the dark and enlarged to 200 %', async () => {
    const { app, other } = await startTwo();
    const page = await open(app.port, { scheme: 'dark', width: 640, height: 450 });
    await counted(page, /5 allowed, 4 denied/);
    await server.stop();
    await page.waitForSelector('main.stale');
    await page.waitForFunction(
      `document.querySelector('#problems').textContent.includes('Redis cannot be read')`,
    );
    await counted(page, /5 allowed, 4 denied/);
    const processes = await page.$eval('.processes tbody', ({ textContent }) => textContent);
    expect(processes).toContain(String(other.program.pid));
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  });
});

it('the operations page states that another process is on its fallback, in the words of its health', async () => {
  server = await startRedisServer({ config: ['user narrow on nopass ~* &* +@all -eval -evalsha -fcall'] });
  const { host, port } = server;
  const limits = { prefix: 'f:', timeout: 5000 };
  const app = await startDashboard({ limits: { ...limits, redis: server.url } });
  const other = await startDashboard({
    limits: { ...limits, redis: { host, port, username: 'narrow', password: '' } },
  });
  await other.login('203.0.113.7');
  const page = await open(app.port);
  await page.waitForFunction(`/Degraded: /.test(document.querySelector('#problems').textContent)`);
  await page.waitForFunction(
    `document.querySelector('.processes tbody tr').textContent.includes('the fallback decides')`,
  );
  expect(await seriousFindings(page)).toEqual([]);
});
