import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { stopPrograms } from '../readme/node-program.js';
import { startSampleApp } from '../readme/sample-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startChromium, type Chromium } from './chromium.js';
import { expand, live, press } from './page-parts.js';
import { takePicture, writesPictures } from './picture.js';

const WAIT = 60_000;

const PICTURES = [
  { name: 'operations-page', scheme: 'light', width: 1200, height: 800 },
  { name: 'operations-page-dark', scheme: 'dark', width: 1200, height: 800 },
  { name: 'operations-page-phone', scheme: 'light', width: 360, height: 740 },
] as const;

describe('the sample app', () => {
  let chromium: Chromium;

  beforeAll(async () => {
    chromium = await startChromium();
  });
  afterEach(stopPrograms);
  afterAll(() => chromium.close());

  async function start(variables?: Readonly<Record<string, string>>): Promise<string> {
    const { program } = await startSampleApp(variables);
    return /http:\S+\/rate-limits(?= shows)/.exec(program.printed())![0];
  }

  it('the sample app prints the address of a page whose button sends traffic that is denied', async () => {
    const { page, errors, hosts } = await chromium.open(await start());
    await live(page);
    const from = performance.now();
    await press(page, 'Send traffic');
    await page.waitForFunction(
      `document.querySelector('#outcomes').textContent.includes('A minute of traffic')`,
    );
    await page.waitForFunction(`document.querySelector('#total-denied').textContent !== '0'`);
    process.stderr.write(`sample app: denials ${Math.round(performance.now() - from)} ms after the click\n`);
    await page.waitForFunction(`document.querySelector('#total-allowed').textContent !== '0'`);
    expect(errors).toEqual([]);
    expect(hosts.size).toBe(1);
  });

  it('a limit that its page changes is obeyed by a second process on the same Redis', async () => {
    const variables = { REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: uniquePrefix() };
    const [url, second] = [await start(variables), new URL('/search', await start(variables)).href];
    const { page, errors } = await chromium.open(url);
    await live(page);
    await expand(page, 'search');
    await press(page, 'Edit search');
    await page.locator('#field-limit').fill('2');
    await press(page, 'Save');
    await page.waitForSelector('dialog', { hidden: true });
    const policy = async () => (await fetch(second)).headers.get('ratelimit-policy');
    await until(
      async () => (await policy())!.includes('"search";q=2;w=10'),
      'the second process to obey',
      WAIT,
    );
    expect(errors).toEqual([]);
  });

  it('the operations page of the sample app has pictures in the documentation', async () => {
    const url = await start({ REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: uniquePrefix() });
    const opened = await Promise.all(PICTURES.map((picture) => chromium.open(url, picture)));
    await press(opened[0]!.page, 'Send traffic');
    if (writesPictures) {
      // A minute is in the chart when the second one starts.
      await sleep(65_000);
      await press(opened[0]!.page, 'Send traffic');
      await sleep(45_000);
    }
    for (const [index, { page }] of opened.entries()) {
      await page.bringToFront();
      await press(page, 'Denied/s');
      await expand(page, 'login');
      await page.waitForSelector('.subjects:not([hidden])');
      await page.waitForSelector('.toast', { hidden: true });
      await page.mouse.move(0, 0);
      await page.evaluate('scrollTo(0, 0)');
      await takePicture(page, PICTURES[index]!.name);
    }
  }, 240_000);
});
