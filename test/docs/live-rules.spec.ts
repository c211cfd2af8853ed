import { describe, expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { runScript } from './run-script.js';

describe('docs/live-rules.md', () => {
  it('docs/live-rules.md shows the picture of its layers that the script draws', async () => {
    expect(textOf('docs/live-rules.md')).toContain('](images/layers.svg)');
    expect(await runScript('scripts/draw-layers.mjs', '--print')).toBe(textOf('docs/images/layers.svg'));
  });
});
