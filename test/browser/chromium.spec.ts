import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium } from './chromium.js';

const POLICY = "default-src 'none'; script-src 'self'";
const PAGE = `<!doctype html><title>A page</title><img src="picture.png"><script>alert(1)</script><p>Text</p><input />`;

describe('the Chromium of the tests', () => {
  let chromium: Chromium;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      response.setHeader('content-security-policy', POLICY).setHeader('content-type', 'text/html').end(PAGE);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    chromium = await startChromium();
  });
  afterAll(async () => {
    await chromium.close();
    server.closeAllConnections();
    server.close();
  });

  it('reports violations of the content security policy, and the hosts of requests', async () => {
    const { page, errors, hosts } = await chromium.open(url);
    expect(await page.title()).toBe('A page');
    expect([...hosts]).toEqual([new URL(url).host]);
    expect(errors.filter((error) => error.includes('Content Security Policy'))).not.toEqual([]);
  });

  it('renders text and form fields on a machine without fonts', async () => {
    const { page } = await chromium.open(url);
    for (const element of ['p', 'input']) {
      expect((await (await page.$(element))!.boundingBox())!.height).toBeGreaterThan(15);
    }
  });

  it('finds what axe-core calls serious, such as a picture without an alternative', async () => {
    const { page } = await chromium.open(url, { scheme: 'dark' });
    expect(await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches')).toBe(true);
    expect((await seriousFindings(page)).join('\n')).toContain('image-alt');
  });
});
