import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Page } from 'puppeteer-core';
import { KEPT_MS } from '../../lib/stores/redis/link/process-records.js';
import { stopPrograms } from '../readme/node-program.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look } from './chromium.js';
import { PASS } from './dashboard-app.js';
import { startDashboardProcess, type DashboardProcess } from './dashboard-process.js';
import { live } from './page-parts.js';

/** Whether the list of processes has the focus, so that the arrow keys scroll it. */
const FOCUSED = `document.activeElement.matches('.scrolled')`;

/** Checks by a timer: by default, a check needs an animation frame, which a page in the background may not get. */
const LOOKS = { polling: 100 };

describe('the operations page of three processes', () => {
  let chromium: Chromium;
  let server: RedisServer;
  let proxy: Proxy | undefined;
  /** What the clients counted. */
  let clients: { allowed: number; denied: number };

  beforeAll(async () => {
    chromium = await startChromium();
  }, 120_000);

  afterEach(async () => {
    await stopPrograms();
    await proxy?.close();
    proxy = undefined;
    await server.stop();
  });

  afterAll(() => chromium.close());

  /** Starts three processes; the last one with other options. */
  async function startThree(more: object = {}) {
    clients = { allowed: 0, denied: 0 };
    const options = { redis: server.url, prefix: 'w:' };
    const start = (each: object = {}) => startDashboardProcess({ ...options, ...each });
    const all = await Promise.all([start(), start(), start(more)]);
    return [...all, start] as const;
  }

  /** Sends requests of a client until three are allowed and one is denied. */
  async function request({ getFrom }: DashboardProcess, ip: string): Promise<void> {
    for (let nth = 0; nth < 4; nth += 1) {
      const { status } = await getFrom(ip, '/login');
      clients[status === 429 ? 'denied' : 'allowed'] += 1;
    }
  }

  async function open({ url }: DashboardProcess, look: Look = {}): Promise<Page> {
    const { page } = await chromium.open(url, { headers: PASS, ...look });
    await live(page);
    return page;
  }

  /** Waits until both charts have what the clients counted. */
  async function hasAll(page: Page): Promise<void> {
    const text = `: ${clients.allowed} allowed, ${clients.denied} denied.`;
    for (const chart of ['#chart', '#hour']) {
      const has = `document.querySelector('${chart}').ariaLabel.includes(${JSON.stringify(text)})`;
      await page.waitForFunction(has, LOOKS).catch(async (error: unknown) => {
        const label = await page.$eval(chart, ({ ariaLabel }) => ariaLabel);
        throw new Error(`${chart} has not "${text}" but "${label}"`, { cause: error });
      });
    }
  }

  const states = (page: Page, text: RegExp) =>
    page.waitForFunction(`${String(text)}.test(document.querySelector('#problems').textContent)`, LOOKS);

  it('has what the clients counted after one was killed and all were replaced', async () => {
    server = await startRedisServer();
    const [one, two, three, start] = await startThree();
    for (const [nth, each] of [one, two, three, three].entries()) await request(each, `203.0.113.${nth}`);
    expect(clients).toEqual({ allowed: 12, denied: 4 });
    const page = await open(one);
    await hasAll(page);
    three.program.kill();
    await states(page, new RegExp(`2 report: \\S+ ${three.program.pid} silent since \\d`));
    await hasAll(page);
    expect(await seriousFindings(page)).toEqual([]);

    const next = await start();
    await Promise.all([one, two].map(({ program }) => program.stop()));
    const after = await open(next);
    await hasAll(after);
    await request(next, '203.0.113.9');
    await hasAll(after);
  });

  it('names a stopped one at the top, in red, and keeps what it has counted, on a phone as well', async () => {
    server = await startRedisServer();
    const [one, , { program, ...three }] = await startThree();
    await request({ program, ...three }, '203.0.113.7');
    const page = await open(one);
    await hasAll(page);
    process.kill(program.pid, 'SIGSTOP');
    await states(page, new RegExp(`2 report: \\S+ ${program.pid} silent since \\d`));
    await hasAll(page);
    const row = await page.waitForSelector('.processes tr.silent .bad');
    expect(await row!.evaluate(({ textContent }) => textContent)).toMatch(/^silent since/);
    expect(await seriousFindings(page)).toEqual([]);
    for (let presses = 0; presses < 20 && !(await page.evaluate(FOCUSED)); presses += 1)
      await page.keyboard.press('Tab');
    expect(await page.evaluate(FOCUSED)).toBe(true);
    await page.setViewport({ width: 390, height: 800 });
    const left = (selector: string) => page.$eval(selector, (each) => each.getBoundingClientRect().left);
    expect(await left('#problems')).toBe(await left('.processes'));
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    process.kill(program.pid, 'SIGCONT');
    await page.waitForFunction(`!document.querySelector('.processes tr.silent')`);
  });

  it('names the one that is cut off from Redis, which shows its own fallback, and adds what it counted meanwhile', async () => {
    server = await startRedisServer();
    proxy = await startProxy(server);
    const [one, , three] = await startThree({ redis: proxy.url, timeout: 500 });
    await request(three, '203.0.113.7');
    const [page, own] = [await open(one), await open(three)];
    await hasAll(page);
    proxy.each((connection) => connection.reset());
    await states(page, new RegExp(`2 report: \\S+ ${three.program.pid} silent since \\d`));
    await states(own, /Redis cannot be read/);
    await request(three, '203.0.113.8');
    await hasAll(own);
    await own.waitForFunction(
      `document.querySelector('.processes').textContent.includes('the fallback decides')`,
    );
    proxy.each(() => undefined);
    await page.waitForFunction(`!document.querySelector('.processes tr.silent')`);
    await hasAll(page);
    const chart = await (await page.$('#hour'))!.boundingBox();
    const isTraced = async (): Promise<boolean> => {
      for (let x = 5; x < chart!.width / 4; x += 10) {
        await page.mouse.move(chart!.x + chart!.width - x, chart!.y + 20);
        if (/4 by the fallback/.test(await page.$eval('#reading', (each) => each.textContent ?? '')))
          return true;
      }
      return false;
    };
    await until(isTraced, 'the trace of the outage in the chart', 30_000);
  });

  it('states that one decides by its fallback, in the words of its health, while all report', async () => {
    server = await startRedisServer({ config: ['user narrow on nopass ~* &* +@all -eval -evalsha -fcall'] });
    const { host, port } = server;
    const [one, , three] = await startThree({ redis: { host, port, username: 'narrow', password: '' } });
    await request(three, '203.0.113.7');
    const page = await open(one);
    await states(page, new RegExp(` ${three.program.pid}: Degraded: `));
    const row = `document.querySelector('.processes tbody tr').textContent`;
    await page.waitForFunction(
      `${row}.includes('${three.program.pid}') && ${row}.includes('the fallback decides')`,
    );
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('that are more than 256 shows them as such', async () => {
    server = await startRedisServer();
    const one = await startDashboardProcess({ redis: server.url, prefix: 'w:' });
    const redis = new Redis(server.url);
    const ids = Array.from({ length: 299 }, (_, nth) => `p${nth}`);
    const key = async () => (await redis.keys('w:{instances}:process:*'))[0];
    await until(async () => (await key()) !== undefined, 'a report');
    const report = await redis.get((await key())!);
    const publish = async () => {
      const now = Date.now();
      await redis.zadd('w:{instances}', ...ids.flatMap((id) => [(now + 30_000) * 1000, `${id} rl`]));
      await redis.zadd('w:{instances}:writers', ...ids.flatMap((id) => [now, `k ${id}`]));
      const set = (id: string, nth: number) => {
        const text = JSON.stringify({ ...(JSON.parse(report!) as object), id, pid: 100_000 + nth });
        return redis.set(`w:{instances}:process:${id}`, text, 'PX', KEPT_MS);
      };
      await Promise.all(ids.map(set));
    };
    await publish();
    const published = setInterval(() => void publish(), 1000);
    try {
      const page = await open(one, { width: 390, height: 800 });
      await states(
        page,
        /There are 300 processes: the figures are those of 25[67], since at most 256 are read\./,
      );
      await page.waitForFunction(
        `/^300 alive, 25[67] report$/.test(document.querySelector('#processes-title').textContent)`,
      );
      expect((await page.$$('.processes tbody tr')).length).toBeGreaterThanOrEqual(256);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      expect(await seriousFindings(page)).toEqual([]);
    } finally {
      clearInterval(published);
      redis.disconnect();
    }
  });

  it.each(['stop', 'pause'] as const)(
    'keeps what was known of all in grey after a %s of Redis, in the dark and enlarged to 200 %%',
    async (end) => {
      server = await startRedisServer();
      const [one, two, three] = await startThree();
      for (const [nth, each] of [two, three].entries()) await request(each, `203.0.113.${nth}`);
      const page = await open(one, { scheme: 'dark', width: 640, height: 450 });
      await hasAll(page);
      await server[end]();
      await page.waitForSelector('main.stale');
      await states(page, /Redis cannot be read/);
      await hasAll(page);
      const processes = await page.$eval('.processes tbody', ({ textContent }) => textContent);
      for (const { program } of [two, three]) expect(processes).toContain(String(program.pid));
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      expect(await seriousFindings(page)).toEqual([]);
    },
  );
});
