import { readFileSync, writeFileSync } from 'node:fs';
import type { Page, ScreenshotClip } from 'puppeteer-core';
import { expect } from '@jest/globals';
import { pathOf } from '../readme/code-blocks.js';

/** Whether pictures are written to docs/images. */
export const writesPictures = process.env['SCREENSHOTS'] !== undefined;

/** Smaller files show an empty page. */
const LEAST_BYTES = 10_000;

/**
 * Takes a picture of the documentation, and checks that the file in docs/images has its width. With `SCREENSHOTS=1`, the
 * picture replaces that file.
 */
export async function takePicture(page: Page, name: string, clip?: ScreenshotClip): Promise<void> {
  const picture = await page.screenshot({ ...(clip && { clip, captureBeyondViewport: true }) });
  const file = pathOf(`docs/images/${name}.png`);
  if (writesPictures) writeFileSync(file, picture);
  expect(picture.length).toBeGreaterThan(LEAST_BYTES);
  // Releases of Chromium round widths differently.
  expect(Math.abs(widthOf(picture) - widthOf(readFileSync(file)))).toBeLessThanOrEqual(2);
}

/** The width in the header of a PNG. */
function widthOf(picture: Uint8Array): number {
  return new DataView(picture.buffer, picture.byteOffset).getUint32(16);
}
