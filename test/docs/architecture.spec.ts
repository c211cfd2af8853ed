import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf } from '../readme/code-blocks.js';
import { tableOf } from '../readme/tables.js';

const PAGE = 'docs/architecture.md';

/** Returns the folders in a folder that have source files, without those of the algorithms. */
function foldersBelow(folder: string): string[] {
  return readdirSync(pathOf(folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = `${folder}/${name}`;
      const below = name === 'algorithms' ? [] : foldersBelow(path);
      const hasSource = readdirSync(pathOf(path)).some((file) => file.endsWith('.ts'));
      return hasSource ? [path, ...below] : below;
    });
}

describe(PAGE, () => {
  it('has a row for every folder of lib', () => {
    const rows = tableOf(PAGE, 'folder').map(({ folder }) => folder);
    expect([...rows].sort()).toEqual(foldersBelow('lib').sort());
  });
});
