import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { chromiumBinary } from './chromium-binary.js';

/** How a page is shown. */
export interface Look {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly headers?: Record<string, string>;
}

/** A page, and what it did that it should not. */
export interface Watched {
  readonly page: Page;
  /** Errors in the console, uncaught errors and violations of the content security policy. */
  readonly errors: string[];
  /** The hosts of all requests, with ports. */
  readonly hosts: Set<string>;
}

export interface Chromium {
  readonly browser: Browser;
  /** Opens a page in a new context without cookies or storage. The promise does not wait for streams of the page. */
  open(url: string, look?: Look): Promise<Watched>;
  close(): Promise<void>;
}

/** Starts one Chromium. Start one for each spec file, and close it in `afterAll`. */
export async function startChromium(): Promise<Chromium> {
  const { path, env } = await chromiumBinary();
  const launch = () =>
    puppeteer.launch({
      executablePath: path,
      env,
      headless: 'shell',
      timeout: 90_000,
      protocolTimeout: 90_000,
      // The tests may run as root and in containers with a small /dev/shm.
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'],
    });
  // Chromium itself may fail to start on a busy machine: "Zygote could not fork".
  const browser = await launch().catch(launch);
  return {
    browser,
    open: (url, look) => open(browser, url, look),
    close: () => browser.close(),
  };
}

async function open(browser: Browser, url: string, look: Look = {}): Promise<Watched> {
  const { scheme = 'light', width = 1280, height = 900, headers = {} } = look;
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width, height });
  await page.setExtraHTTPHeaders(headers);
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: scheme },
    // No picture is taken in the middle of a transition.
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]);
  const watched: Watched = { page, errors: [], hosts: new Set() };
  page.on('console', (message) => {
    if (message.type() === 'error') watched.errors.push(message.text());
  });
  page.on('pageerror', (error) => watched.errors.push(String(error)));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:') watched.hosts.add(host);
  });
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  return watched;
}
