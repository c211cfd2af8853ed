import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url)).replaceAll('\\', '/');

const OURS = /^(lib|site\/playground)\//;
const ALLOWED = /^(lib\/(algorithms|contracts|replay|rules|simulate)|site\/playground)\//;
/** The one module that may import `node:crypto`: it digests names of more than 64 characters, which the playground lacks. */
const DIGESTS = 'lib/rules/subject.ts';
const NO_DIGESTS = '\0no-digests';
const VIEW = /\/node_modules\/(@vue|vue|vitepress)\//;

/**
 * A plugin for Vite: the playground runs the algorithms of lib in the browser. Fails the build if they bring along
 * what runs on a server only: Nest, Redis, modules of Node.js, or any package.
 */
export function onlyForBrowsers() {
  return {
    name: 'only-for-browsers',
    enforce: 'pre',
    resolveId(id, importer) {
      if (!importer || !OURS.test(pathOf(importer)) || !isBuiltin(id)) return;
      if (id === 'node:crypto' && pathOf(importer) === DIGESTS) return NO_DIGESTS;
      throw new Error(`${pathOf(importer)} imports ${id}, which browsers do not have`);
    },
    load(id) {
      if (id === NO_DIGESTS)
        return `export function createHash() { throw new Error('no digests in browsers'); }`;
    },
    moduleParsed({ id, importedIds }) {
      const file = pathOf(id);
      if (!OURS.test(file)) return;
      if (!ALLOWED.test(file)) {
        throw new Error(
          `the site imports ${file}; allowed of lib: algorithms, contracts, replay, rules, simulate`,
        );
      }
      const paths = importedIds.map((each) => each.replaceAll('\\', '/'));
      const packages = paths.filter((path) => path.includes('/node_modules/') && !VIEW.test(path));
      if (packages.length > 0) throw new Error(`${file} imports ${packages.join(', ')} into the site`);
    },
  };
}

/** Returns the path of a module in the repository. */
function pathOf(id) {
  const path = id.replaceAll('\\', '/');
  return path.startsWith(root) ? path.slice(root.length) : path;
}
