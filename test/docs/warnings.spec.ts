import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { NO_MODULE } from '../../lib/nest/checks/module-check.js';
import { WARNING_CODES } from '../../lib/nest/warning-codes.js';

const [, ...SECTIONS] = readFileSync('docs/warnings.md', 'utf8').split(/^## /m);

describe('docs/warnings.md', () => {
  it('docs/warnings.md has one section for each code of a warning, in alphabetical order', () => {
    const titles = SECTIONS.map((section) => section.split('\n', 1)[0]);
    expect(titles).toEqual([...WARNING_CODES, NO_MODULE].sort());
  });

  it.each(SECTIONS)(
    'a section of docs/warnings.md states the meaning, the symptom, the fix and the switch: %s',
    (section) => {
      const [code] = section.split('\n', 1);
      const parts = [...section.matchAll(/^- \*\*(.*?)\*\*/gm)].map(([, part]) => part);
      expect(parts).toEqual(['Meaning.', 'Seen as.', 'Fix.', 'Turn off.']);
      expect(section.includes(`warnings: { ${code}: false }`)).toBe(code !== NO_MODULE);
    },
  );
});
