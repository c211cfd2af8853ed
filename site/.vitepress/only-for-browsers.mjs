import { isBuiltin } from 'node:module';

const PARTS = /\/lib\/(algorithms|contracts|rules|simulate)\//;

/**
 * A plugin for Vite: the playground runs the algorithms of lib in the browser. Fails the build if they bring along
 * what runs on a server only: Nest, Redis, modules of Node.js, or any package.
 */
export function onlyForBrowsers() {
  return {
    name: 'only-for-browsers',
    enforce: 'pre',
    resolveId(id, importer) {
      if (!importer || !/\/(lib|site\/playground)\//.test(importer) || importer.includes('/node_modules/'))
        return;
      if (isBuiltin(id)) throw new Error(`${importer} imports ${id}, which browsers do not have`);
    },
    moduleParsed({ id, importedIds }) {
      const file = id.replaceAll('\\', '/');
      if (!file.includes('/lib/') || file.includes('/node_modules/')) return;
      if (!PARTS.test(file))
        throw new Error(`the site imports ${id}; allowed of lib: algorithms, contracts, rules, simulate`);
      const packages = importedIds.filter((each) => /[/\\]node_modules[/\\]/.test(each));
      if (packages.length > 0) throw new Error(`${id} imports ${packages.join(', ')} into the site`);
    },
  };
}
