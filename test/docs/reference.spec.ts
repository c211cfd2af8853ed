import { describe, expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

describe('docs/reference.md', () => {
  it('docs/reference.md is the current output of npm run docs', async () => {
    expect(await runScript('scripts/write-reference.mjs', '--print')).toBe(textOf('docs/reference.md'));
  }, 60_000);
});
