import { describe, expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

describe('docs/reference.md', () => {
  it('is what npm run docs writes from the types and doc comments of today', async () => {
    expect(await runScript('scripts/write-reference.mjs', '--print')).toBe(textOf('docs/reference.md'));
  }, 60_000);
});
