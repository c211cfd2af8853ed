import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The groups of pages in the sidebar. A page that no group names is in the last one. */
const GROUPS = {
  Tasks: ['is-it-for-you', ...pagesIn('docs/tasks').map((page) => `tasks/${page}`)],
  Start: ['configuration', 'choosing', 'playground', 'testing'],
  Use: ['programs', 'transports', 'live-rules', 'simulate', 'migration'],
  Operate: ['operations', 'servers', 'reliability', 'performance', 'troubleshooting', 'warnings'],
  Algorithms: pagesIn('docs/algorithms').map((page) => `algorithms/${page}`),
  More: [],
};

/** Returns the sidebar: every page of docs, by its title. The decisions have one of their own. */
export function sidebar() {
  const named = new Set(Object.values(GROUPS).flat());
  const others = pagesIn('docs').filter((page) => !named.has(page));
  const groups = Object.entries({ ...GROUPS, More: others }).map(([text, pages]) => ({
    text,
    items: pages.map((page) => item(`docs/${page}`)),
  }));
  const decisions = pagesIn('docs/adr').map((page) => item(`docs/adr/${page}`));
  const project = [
    item('CHANGELOG'),
    item('CONTRIBUTING'),
    item('SECURITY'),
    { ...decisions[0], text: 'Decisions' },
  ];
  const introduction = { text: 'Introduction', link: '/' };
  return {
    '/docs/adr/': [introduction, { text: 'Decisions', items: decisions }],
    '/': [introduction, ...groups, { text: 'Project', items: project }],
  };
}

function item(page) {
  const [, text = page] = /^# (.*)$/m.exec(readFileSync(`${root}${page}.md`, 'utf8')) ?? [];
  return { text: text.replaceAll('`', ''), link: `/${page}` };
}

/** The pages in a folder, in the order of their names. */
function pagesIn(folder) {
  return readdirSync(`${root}${folder}`)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => file.replace(/\.md$/, ''))
    .toSorted();
}
