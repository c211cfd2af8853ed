import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'puppeteer-core';

const SOURCE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns what axe-core finds serious or critical in a page, one line for each element. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Evaluated through the debugger, which the content security policy of the page does not restrict.
  await page.evaluate(await readFile(SOURCE, 'utf8'));
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
    );
}
