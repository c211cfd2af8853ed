import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'puppeteer-core';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium, type Look, type Watched } from './chromium.js';
import { takePicture } from './picture.js';
import { startSite, type Site } from './site.js';

let chromium: Chromium;
let site: Site;
const opened: Watched[] = [];

beforeAll(async () => {
  [site, chromium] = await Promise.all([startSite(), startChromium()]);
}, 400_000);
afterAll(async () => {
  await chromium?.close();
  await site?.close();
});

/** Opens the playground, and waits until it shows the settings of the link. */
async function open(hash = '', look: Look = {}): Promise<Page> {
  const watched = await chromium.open(`${site.url}docs/playground.html${hash}`, look);
  opened.push(watched);
  await watched.page.waitForFunction('document.querySelector(".playground.ready") !== null');
  return watched.page;
}

/** The figures of each rule as text, such as `fixed-window allowed 20 denied 0 worst 20 in 10 s`. */
const figuresOf = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('.lane')].map((lane) => [
    lane.querySelector('strong').textContent,
    ...[...lane.querySelectorAll('[data-figure]')].map((each) => each.dataset.figure + ' ' + each.textContent.trim()),
  ].join(' '))`) as Promise<string[]>;

/** Moves a slider by its label. */
const slide = (page: Page, label: string, value: string) =>
  page.evaluate(`{
    const label = [...document.querySelectorAll('.slider label')].find((each) => each.textContent.trim() === '${label}');
    const input = document.getElementById(label.htmlFor);
    input.value = '${value}';
    input.dispatchEvent(new Event('input'));
  }`);

/** Presses a button by its text. */
const press = (page: Page, text: string) =>
  page.evaluate(
    `[...document.querySelectorAll('button')].find((each) => each.textContent.trim() === '${text}').click()`,
  );

const DEFAULT_FIGURES = [
  'fixed-window allowed 20 denied 0 worst 20 in 10 s',
  'sliding-window-log allowed 10 denied 10 worst 10 in 10 s',
];

describe('the playground', () => {
  it('shows the double burst of the fixed window, and that the log denies half of it', async () => {
    const page = await open();
    expect(await figuresOf(page)).toEqual(DEFAULT_FIGURES);
    expect(await page.$eval('.summary', (each) => each.textContent)).toContain('2 times its limit');
    expect(await page.$eval('.playground .card pre', (each) => each.textContent)).toBe(
      "@RateLimit({ window: '10s', limit: 10, algorithm: 'fixed-window', align: 'clock' })",
    );
  });

  it('shows the same figures when its link is opened again', async () => {
    const page = await open();
    await page.select('.playground .traffic select', 'poisson');
    await slide(page, 'rate', '4.5');
    await slide(page, 'seed', '17');
    await press(page, 'Add a rule');
    await press(page, 'Add a rule');
    await slide(page, 'cells', '3');
    const figures = await figuresOf(page);
    expect(figures).toHaveLength(4);
    expect(figures.slice(0, 2)).not.toEqual(DEFAULT_FIGURES);
    const hash = new URL(page.url()).hash;
    expect(hash).toContain('seed=17');
    expect(await figuresOf(await open(hash, { scheme: 'dark', width: 400 }))).toEqual(figures);
  });

  it('has the state at the cursor, and every decision in a table', async () => {
    const page = await open();
    await page.$eval('.time input', (each) => each.focus());
    await page.keyboard.press('End');
    const state = () => page.$eval('table.state', (each) => each.textContent);
    expect(await state()).toContain('At 30 s');
    expect(await state()).toContain('10 of 10');
    await page.keyboard.press('Home');
    expect(await state()).toContain('none');
    await page.click('.decisions summary');
    await page.waitForSelector('.decisions tbody tr');
    const rows = await page.$$eval('.decisions tbody tr', (all) => all.map(({ textContent }) => textContent));
    expect(rows).toHaveLength(20);
    expect(rows.at(-1)).toMatch(/^10\.905 s ?allowed ?denied, retry after/);
  });

  it('is drawn by the keyboard and by the pointer', async () => {
    const page = await open();
    await page.$eval('.draw [tabindex="0"]', (each) => each.focus());
    for (const key of ['7', 'ArrowRight', 'ArrowUp', 'ArrowUp', 'End', 'PageUp'] as const) {
      await page.keyboard.press(key);
    }
    expect(await page.$eval('.draw :focus', (each) => each.getAttribute('aria-valuetext'))).toBe(
      '5 requests',
    );
    expect(await page.$eval('.traffic select', (each) => (each as unknown as { value: string }).value)).toBe(
      'drawn',
    );
    expect(new URL(page.url()).hash).toMatch(/drawn=72.*5&/);

    const { x, y, width, height } = (await (await page.$('.draw'))!.boundingBox())!;
    await page.mouse.move(x + width * 0.51, y + height * 0.5);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.535, y + height * 0.25);
    await page.mouse.up();
    expect(new URL(page.url()).hash).toMatch(/drawn=\w{20}af/);
  });

  it('shows text of a hostile link as text, and the first settings instead', async () => {
    const page = await open(
      '#traffic=__proto__&rate=%00&rule=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&rule=%E2%80%AE1/1s&%E0%A4%A',
    );
    expect(await figuresOf(page)).toEqual(DEFAULT_FIGURES);
    expect(await page.$$('.playground img')).toEqual([]);
    expect(await page.$eval('.problem', (each) => each.textContent)).toContain(
      '<img src=x onerror=alert(1)>',
    );
    expect(await page.$eval('.problem', (each) => each.textContent)).not.toContain('\u202e');
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('has nothing that axe-core calls serious, in %s, %s pixels wide', async (scheme, width) => {
    const rules = ['10/10s', '10/10s token-bucket', '10/10s leaky-bucket', '4 concurrency lease=30s'];
    const link = new URLSearchParams([['traffic', 'drawn'], ['drawn', '0123456789'.repeat(4)], ...rules.map((rule): [string, string] => ['rule', rule])]); // prettier-ignore
    for (const hash of ['', `#${link.toString()}`]) {
      const page = await open(hash, { scheme, width });
      await page.click('.decisions summary');
      await page.waitForSelector('.decisions tbody tr');
      expect(await seriousFindings(page)).toEqual([]);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(overflow)).toBe(0);
    }
  });

  it('is found by the search of the site', async () => {
    const page = await open();
    await page.click('.VPNavBarSearch button');
    await page.waitForSelector('.VPLocalSearchBox input');
    await page.type('.VPLocalSearchBox input', 'playground');
    await page.waitForSelector('.VPLocalSearchBox a.result[href*="/docs/playground"]');
  });

  it('is in a picture of the documentation', async () => {
    const page = await open('', { width: 1100, height: 1000 });
    const { x, y, width } = (await (await page.$('.playground'))!.boundingBox())!;
    const last = (await (await page.$('.playground .legend'))!.boundingBox())!;
    const clip = { x: x - 12, y: y - 12, width: width + 24, height: last.y + last.height - y + 24 };
    await takePicture(page, 'playground', clip);
  });

  it('neither reports an error nor sends a request to another host, on all pages above', () => {
    expect(opened.flatMap(({ errors }) => errors)).toEqual([]);
    expect([...new Set(opened.flatMap(({ hosts }) => [...hosts]))]).toEqual([new URL(site.url).host]);
    expect(site.missing).toEqual([]);
  });
});
