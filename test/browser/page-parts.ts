import type { ElementHandle, Page } from 'puppeteer-core';

/** Waits until the page follows the application. */
export async function live(page: Page): Promise<void> {
  await page.waitForFunction(`document.querySelector('#connection-text')?.textContent === 'Live'`);
}

/** Returns the expression of the rows of a rule, for scripts in the page. */
export function rowsOf(rule: string): string {
  return `[...document.querySelectorAll('#rules > tbody')].find((rows) => rows.querySelector('.toggle').textContent === ${JSON.stringify(rule)})`;
}

/** Waits until a rule is in the table, and returns its rows. */
export async function ruleRows(page: Page, rule: string): Promise<ElementHandle> {
  return (await page.waitForFunction(rowsOf(rule))) as ElementHandle;
}

/** Expands a rule. */
export async function expand(page: Page, rule: string): Promise<ElementHandle> {
  const rows = await ruleRows(page, rule);
  await (await rows.$('.toggle[aria-expanded="false"]'))?.click();
  await rows.waitForSelector('.details');
  return rows;
}

/** Clicks the button with an accessible name. */
export async function press(page: Page, name: string): Promise<void> {
  await page.locator(`::-p-aria([name=${JSON.stringify(name)}][role="button"])`).click();
}

/** Presses Tab until the element with an accessible name has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const focused = `(() => {
    const { activeElement: element } = document;
    return element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent;
  })()`;
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(focused)) === name) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}
