import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf, textOf } from './code-blocks.js';

const pages = [
  'README.md',
  ...readdirSync(pathOf('docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

function anchorsOf(page: string): string[] {
  const titles = textOf(page).matchAll(/^#+ (.*)$/gm);
  return Array.from(titles, ([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

// A reader who follows a name finds what it names.
describe.each(pages)('%s', (page) => {
  it('links to pages and titles that are there', () => {
    const targets = Array.from(textOf(page).matchAll(/\]\(([^)]+)\)/g), ([, target = '']) => target);
    const broken = targets.filter((target) => {
      if (target.startsWith('https:')) return false;
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? page : new URL(file, `file:///${page}`).pathname.slice(1);
      return !existsSync(pathOf(found)) || (anchor !== undefined && !anchorsOf(found).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  it('names files that are there', () => {
    const named = Array.from(
      textOf(page).matchAll(/\b(?:lib|test|sample-app|scripts)\/[\w./-]+\.\w+/g),
      ([name]) => name,
    );
    expect(named.filter((file) => !existsSync(pathOf(file)))).toEqual([]);
  });
});
