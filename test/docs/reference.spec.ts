import { describe, expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

/** Names that users may import, besides those of the store interface, which is not stable. */
const MOST_NAMES = 90;

describe('docs/reference.md', () => {
  it('docs/reference.md is the current output of npm run docs', async () => {
    expect(await runScript('scripts/write-reference.mjs', '--print')).toBe(textOf('docs/reference.md'));
  }, 300_000);

  it('the report of the public API has the names and signatures of the code', async () => {
    const report = await runScript('scripts/write-reference.mjs', '--report');
    expect(report).toBe(textOf('test/compiler/api-report.md'));
  }, 300_000);

  it('the entries of the package, except that of stores, export at most 90 names', () => {
    const [, contents = ''] = textOf('test/compiler/api-report.md').split('\n\n- ');
    const names = contents
      .split('\n')
      .filter((line) => /^(- )?\[/.test(line) && !/Rate-limit\/store\]|Types of options/i.test(line))
      .flatMap((line) => line.replace(/^[^:]*: /, '').match(/\[`\w+`\]/g) ?? []);
    expect(new Set(names).size).toBeGreaterThan(50);
    expect(new Set(names).size).toBeLessThanOrEqual(MOST_NAMES);
  });
});
