import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A plugin for markdown-it: makes Markdown that is written for GitHub work on the site.
 *
 * - A link to a folder's README leads to the folder's page.
 * - A link to a file that is no page leads to the repository, or becomes text if its address is not known.
 * - A relative path in HTML, such as `<source srcset="images/…">`, gets the `./` that a bundler needs.
 * - Pictures of other hosts, such as badges, are left out: the site sends no request to another host.
 */
export function repositoryLinks(markdown, repository) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    for (const token of tokens) {
      for (const html of [token, ...(token.children ?? [])]) {
        if (html.type === 'html_block' || html.type === 'html_inline') html.content = withDots(html.content);
      }
      if (token.type === 'inline') token.children = linked(withoutBadges(token.children), env, repository);
    }
  });
}

function linked(tokens, { path }, repository) {
  let isText = false;
  return tokens.flatMap((token) => {
    if (token.type === 'link_close' && isText) {
      isText = false;
      return [];
    }
    if (token.type !== 'link_open') return [token];
    const href = token.attrGet('href');
    if (/^([a-z]+:|#)/.test(href)) return [token];
    const [file, anchor] = href.split('#');
    const target = join(dirname(path), file);
    if (file.endsWith('README.md') && existsSync(target)) {
      token.attrSet('href', `${file.replace(/README\.md$/, 'index.md')}${anchor ? `#${anchor}` : ''}`);
    } else if (!file.endsWith('.md') && existsSync(target)) {
      if (repository === undefined) {
        isText = true;
        return [];
      }
      const kind = statSync(target).isDirectory() ? 'tree' : 'blob';
      token.attrSet('href', `${repository}/${kind}/HEAD/${relative(root, target)}`);
    }
    return [token];
  });
}

function withDots(html) {
  return html.replace(/\b(src|srcset)="(?![./]|[a-z]+:)/g, '$1="./');
}

function withoutBadges(tokens) {
  const kept = tokens.filter((token) => token.type !== 'image' || !/^https?:/.test(token.attrGet('src')));
  if (kept.length === tokens.length) return tokens;
  return kept.filter(({ type }) => type !== 'link_open' && type !== 'link_close');
}
