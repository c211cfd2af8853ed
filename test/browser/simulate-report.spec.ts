import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { simulateCommand } from '../../lib/simulate/command.js';
import { seriousFindings } from './axe.js';
import { startChromium, type Chromium } from './chromium.js';

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</code></h2><script>alert(1)</script>',
  '\u202egnp.exe\u2066',
  '&lt;b&gt;"\'`${1}',
  '\u0000\u0007\u2028',
  '-->]]><svg onload=alert(1)>',
];
const RULES = [
  ...['3/1s', '2/1s leaky-bucket queue=2', '2/1s gcra name=<script>alert(1)</script>'],
  ...[`2/1s gcra burst=2 name="'><img/src=x>&lt;`],
];

let folder: string;
let report: string;
let chromium: Chromium;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'report-'));
  const fuzzed = fc.sample(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), {
    numRuns: 200,
    seed: 1,
  });
  const lines = [...HOSTILE, ...fuzzed].flatMap((client, nth) =>
    Array.from({ length: 6 }, () => JSON.stringify({ time: 1_760_000_000 + nth / 10, user: client })),
  );
  const log = join(folder, '<b>access&log.json');
  writeFileSync(log, [...lines, '<script>alert("malformed")</script>'].join('\n'));
  report = join(folder, 'report.html');
  const rules = RULES.flatMap((rule) => ['--rule', rule]);
  await simulateCommand([log, ...rules, '--by', 'user', '--suggest', '1%', '--html', report]);
  chromium = await startChromium();
}, 120_000);
afterAll(async () => {
  await chromium?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the HTML report of the simulator', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)(
    'shows names of rules and clients as text, with nothing serious, in %s, %s pixels wide',
    async (scheme, width) => {
      const { page, errors, hosts } = await chromium.open(pathToFileURL(report).href, { scheme, width });
      expect(await page.$$eval('h2 code', (all) => all.map(({ textContent }) => textContent))).toEqual(RULES);
      const cells = await page.$$eval('bdi', (all) => all.map(({ textContent }) => textContent));
      expect(cells).toContain('<img src=x onerror=alert(1)>');
      expect(await page.$$('img, script, a, link, [onerror], [onload]')).toEqual([]);
      expect(await page.$$eval('body', ([body]) => body!.textContent)).not.toMatch(
        /[\u202a-\u202e\u2066-\u2069]/,
      );
      expect(await seriousFindings(page)).toEqual([]);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(overflow)).toBe(0);
      expect([errors, [...hosts].filter(Boolean)]).toEqual([[], []]);
    },
  );

  it('is one file without scripts', () => {
    expect(readFileSync(report, 'utf8')).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  });
});
