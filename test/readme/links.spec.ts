import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf, textOf } from './code-blocks.js';

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(pathOf('docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
  'CONTRIBUTING.md',
  'sample-app/README.md',
  'bench/README.md',
];

interface Target {
  /** The link as written on the page. */
  readonly link: string;
  /** The path from the root of the repository. */
  readonly file: string;
  readonly anchor: string | undefined;
}

function targetsOf(page: string): Target[] {
  const links = Array.from(textOf(page).matchAll(/\]\(([^)]+)\)/g), ([, link = '']) => link);
  return links
    .filter((link) => !link.startsWith('https:'))
    .map((link) => {
      const [file = '', anchor] = link.split('#');
      return { link, file: file === '' ? page : new URL(file, `file:///${page}`).pathname.slice(1), anchor };
    });
}

function anchorsOf(page: string): string[] {
  const titles = textOf(page).matchAll(/^#+ (.*)$/gm);
  return Array.from(titles, ([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The algorithm in the example of CONTRIBUTING.md. */
const EXAMPLE = 'lib/algorithms/adaptive/';

const linksOf = (targets: readonly Target[]): string[] => targets.map(({ link }) => link);

describe.each(pages)('%s', (page) => {
  it('a page links to pages and titles that exist', () => {
    const broken = targetsOf(page).filter(
      ({ file, anchor }) =>
        !existsSync(pathOf(file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor)),
    );
    expect(linksOf(broken)).toEqual([]);
  });

  it('a page names files that exist', () => {
    const named = Array.from(
      textOf(page).matchAll(/\b(?:lib|test|sample-app|scripts)\/[\w./-]+\.\w+/g),
      ([name]) => name,
    );
    const missing = named.filter((file) => !existsSync(pathOf(file)) && !file.startsWith(EXAMPLE));
    expect(missing).toEqual([]);
  });
});

describe('the package', () => {
  it('says that pages which it has not are in the repository', () => {
    const { files } = JSON.parse(textOf('package.json')) as { files: string[] };
    expect(files.filter((file) => file.endsWith('.md') && !existsSync(pathOf(file)))).toEqual([]);
    const elsewhere = targetsOf('README.md').filter(
      ({ file }) => file.endsWith('.md') && !files.includes(file),
    );
    expect(elsewhere).not.toEqual([]);
    expect(textOf('README.md')).toContain('Pages that the package does not contain are in the repository.');
  });
});

describe('README.md', () => {
  it('README.md has at most 200 lines of at most 120 columns', () => {
    const lines = textOf('README.md').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(200);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});
