import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf, textOf } from '../readme/code-blocks.js';
import { PLANTED_FAULTS } from './planted-faults.mjs';

const LEAST = 40;
const PARTS_WITH_MOST = ['guard', 'startup', 'live', 'page', 'stores'];

describe('npm run mutations', () => {
  it(`plants at least ${LEAST} faults, in every part that a user relies on`, () => {
    expect(PLANTED_FAULTS.length).toBeGreaterThanOrEqual(LEAST);
    expect(PLANTED_FAULTS.map(({ part }) => part)).toEqual(expect.arrayContaining(PARTS_WITH_MOST));
  });

  it.each(PLANTED_FAULTS)('finds the place of the fault: $words', ({ file, text, by, specs }) => {
    expect(textOf(file).split(text)).toHaveLength(2);
    expect(by).not.toBe(text);
    expect(specs.filter((spec) => !existsSync(pathOf(spec)))).toEqual([]);
  });
});
