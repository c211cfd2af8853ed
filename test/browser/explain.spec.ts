import { createServer, request, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSampleApp, type SampleApp } from '../readme/sample-app.js';
import { stopPrograms } from '../readme/node-program.js';
import { send } from '../support/http-client.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium } from './chromium.js';
import { live, press } from './page-parts.js';

const WAIT = 60_000;
const ADMIN = { authorization: 'Bearer admin' };
const SUBJECT = '127.0.0.1';

/** A proxy that sends each request to the next of some servers. */
async function balance(origins: readonly string[]): Promise<Server> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(origins[turn++ % origins.length]!);
    const { url: path, method, headers } = incoming;
    const sent = request({ hostname, port, path, method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('support that has the id of a 429, with three processes behind a balancer', () => {
  let chromium: Chromium;
  let apps: readonly SampleApp[];
  let balancer: Server;
  /** The id of a denial of each process. */
  const ids: string[] = [];

  beforeAll(async () => {
    chromium = await startChromium();
    const variables = {
      REDIS_URL: redisUrl(),
      RATE_LIMIT_PREFIX: uniquePrefix(),
      RATE_LIMIT_TIMEOUT: '5000',
    };
    apps = [
      await startSampleApp(variables),
      await startSampleApp(variables),
      await startSampleApp(variables),
    ];
    balancer = await balance(apps.map(({ origin }) => origin));
    const { port } = balancer.address() as AddressInfo;
    for (let nth = 0; nth < 9; nth += 1) {
      const { status, body } = await send(port, { method: 'POST', path: '/login' });
      if (status === 429) ids[nth % 3] = (JSON.parse(body) as { instance: string }).instance;
    }
  }, 180_000);

  afterAll(async () => {
    balancer.close();
    await chromium.close();
    await stopPrograms();
  });

  async function open({ origin }: SampleApp, headers = ADMIN as Record<string, string>): Promise<Page> {
    const { page } = await chromium.open(`${origin}/rate-limits`, { headers });
    await live(page);
    return page;
  }

  /** Returns what the dialog shows of an id, and how long that took. */
  async function explained(page: Page, id: string) {
    await press(page, 'Explain a denial');
    await page.locator('#denial').fill(id);
    const from = performance.now();
    await press(page, 'Explain');
    await page.waitForFunction(
      `!['', 'Asking the processes…'].includes(document.querySelector('dialog [role="status"]').textContent)`,
    );
    const ms = performance.now() - from;
    const dialog = (await page.$('dialog'))!;
    const text = await dialog.evaluate((element) => element.textContent ?? '');
    return { ms, text, dialog };
  }

  it(
    'sees on the page of each process what each of them decided, within three seconds',
    async () => {
      expect(ids.map((id) => id.length)).toEqual([13, 13, 13]);
      const took: number[] = [];
      for (const app of apps) {
        for (const [nth, id] of ids.entries()) {
          const page = await open(app);
          const { ms, text, dialog } = await explained(page, id);
          expect(text).toContain(`by process ${apps[nth]!.program.pid} of `);
          expect(text).toContain(SUBJECT);
          expect(text).toMatch(/denied; allowed again after \d+ s/);
          expect(text).toMatch(/5 requests allowed and \d denied \(recorded: all subjects\)/);
          expect(
            await dialog.$$eval('.timeline path.bar', (paths) => paths.map((path) => path.getAttribute('d'))),
          ).toEqual([
            expect.stringMatching(/^(M[\d.]+ 62V10){5}$/),
            expect.stringMatching(/^(M[\d.]+ 65V76)+$/),
          ]);
          took.push(ms);
          await page.browserContext().close();
        }
      }
      process.stderr.write(`explain: ${took.map(Math.round).join(', ')} ms\n`);
      expect(Math.min(...took)).toBeLessThan(3000);
    },
    WAIT * 3,
  );

  it(
    'changes the limit of this subject for an hour, with the preview beside it, and of all',
    async () => {
      const page = await open(apps[0]!);
      await explained(page, ids[1]!);
      await page.setViewport({ width: 390, height: 800 });
      const height = await page.$eval('.timeline text', (each) => each.getBoundingClientRect().height);
      expect(height).toBeGreaterThan(9); // It can be read.
      expect(await seriousFindings(page)).toEqual([]);
      await press(page, 'Change the limit of this subject');
      expect(await page.$eval('#end', (select) => (select as unknown as { value: string }).value)).toBe('1h');
      await page.locator('#field-limit').fill('50');
      await page.waitForFunction(`document.querySelector('.effect').textContent.includes('of 1 subject')`);
      await press(page, 'Save');
      await page.waitForFunction(
        `document.querySelector('#outcomes').textContent.includes('The exception applies')`,
      );
      const { port } = new URL(apps[2]!.origin);
      const deadline = performance.now() + WAIT;
      let status = 429;
      while (status === 429 && performance.now() < deadline)
        ({ status } = await send(Number(port), { method: 'POST', path: '/login' }));
      expect(status).toBe(401);
      await press(page, 'Change the limit of all');
      expect(await page.$eval('#end', (select) => (select as unknown as { value: string }).value)).toBe('1h');
    },
    WAIT * 2,
  );

  it('sees no subject without the right to', async () => {
    const page = await open(apps[0]!, {});
    const { text } = await explained(page, ids[0]!);
    expect(text).toContain('Forbidden');
    expect(await page.content()).not.toContain(SUBJECT);
  });

  it(
    'learns when a process has been silent, or has ended, and its denials with it',
    async () => {
      const page = await open(apps[2]!);
      const [stopped, killed] = apps as [SampleApp, SampleApp];
      killed.program.kill();
      await stopped.program.stop();
      await page.waitForFunction(
        `document.querySelector('#problems').textContent.includes('${killed.program.pid} silent since')`,
      );
      const { text } = await explained(page, ids[1]!);
      expect(text).toMatch(
        /The process that wrote this id has reported nothing since [-\d]+ [\d:]+ UTC: if it has ended, its denials ended with it\./,
      );
      const { text: end } = await explained(await open(apps[2]!), ids[0]!);
      expect(end).toMatch(
        /The process that wrote this id ended at [-\d]+ [\d:]+ UTC; its denials ended with it\./,
      );
    },
    WAIT * 2,
  );

  it('finds no subject in the log of a process', () => {
    for (const { program } of apps)
      expect(program.printed().replaceAll('http://127.0.0.1', '')).not.toContain(SUBJECT);
  });
});
