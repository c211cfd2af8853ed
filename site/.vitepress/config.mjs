// The documentation as a site: the Markdown files of the repository under their own paths, so that each link works
// here as on GitHub. `npm run site` builds it, and fails on a dead link.
//
//   SITE_BASE=/nestjs-redis-rate-limit/   the path of the site on its host; by default /
//   SITE_REPOSITORY=https://github.com/…  where links to files lead that are no pages; by default they are plain text
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { onlyForBrowsers } from './only-for-browsers.mjs';
import { repositoryLinks } from './repository-links.mjs';
import { sidebar } from './sidebar.mjs';

const { name, description } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const { SITE_BASE = '/', SITE_REPOSITORY } = process.env;

export default defineConfig({
  title: name,
  description,
  lang: 'en',
  base: SITE_BASE,
  srcDir: '..',
  srcExclude: ['{bench,examples,lib,node_modules,sample-app,site,test}/**'],
  outDir: '../dist/site',
  cacheDir: '../.cache/site',
  rewrites: { 'README.md': 'index.md', 'docs/algorithms/README.md': 'docs/algorithms/index.md' },
  markdown: {
    anchor: { slugify },
    config: (markdown) => markdown.use(repositoryLinks, SITE_REPOSITORY),
  },
  vite: { plugins: [onlyForBrowsers()] },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/docs/configuration' },
      { text: 'Algorithms', link: '/docs/choosing' },
      { text: 'Playground', link: '/docs/playground' },
      { text: 'Reference', link: '/docs/reference' },
    ],
    sidebar: sidebar(),
  },
});

/** Returns the anchor of a title, as on GitHub. */
function slugify(title) {
  return title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
