/** The part of the schematics' file tree that is used. */
interface Tree {
  exists(path: string): boolean;
  readText(path: string): string;
  create(path: string, text: string): void;
  overwrite(path: string, text: string): void;
}

/** The part of the schematics' context that is used. */
interface Context {
  readonly logger: { info(line: string): void; warn(line: string): void };
  addTask(task: { toConfiguration(): object }): unknown;
}

interface NestAddOptions {
  readonly sourceRoot?: string;
  readonly redis?: boolean;
  readonly skipInstall?: boolean;
}

const IOREDIS = '^5.4.0';

/** The schematic of `nest add nestjs-redis-rate-limit`: imports RateLimitModule, and sets REDIS_URL. */
export function nestAdd({ sourceRoot = 'src', redis = true, skipInstall = false }: NestAddOptions) {
  return (tree: Tree, context: Context): Tree => {
    importModule(tree, context, sourceRoot, redis);
    if (redis) {
      setVariable(tree, context);
      addClient(tree, context, skipInstall);
    }
    return tree;
  };
}

function importModule(tree: Tree, { logger }: Context, sourceRoot: string, redis: boolean): void {
  const path = `${sourceRoot}/app.module.ts`;
  const call = `RateLimitModule.forRoot({ ${redis ? 'redis: process.env.REDIS_URL, ' : ''}rules: { default: { window: '1m', limit: 100 } } })`;
  const source = tree.exists(path) ? tree.readText(path) : undefined;
  if (source?.includes('RateLimitModule')) {
    logger.info(`${path} has RateLimitModule already.`);
    return;
  }
  const changed = source && withImport(withModule(source, call));
  if (changed) tree.overwrite(path, changed);
  else logger.warn(`Add this to the imports of the root module, which is not found in ${path}: ${call}`);
}

/** Adds a module to the imports of the decorator; `undefined` if there is no decorator. */
function withModule(source: string, call: string): string | undefined {
  const decorator = /@Module\(\s*\{/.exec(source);
  if (!decorator) return undefined;
  const end = decorator.index + decorator[0].length;
  const list = /\bimports:\s*\[/.exec(source.slice(end));
  if (!list) return `${source.slice(0, end)}\n  imports: [${call}],${source.slice(end)}`;
  const at = end + list.index + list[0].length;
  const isEmpty = /^\s*\]/.test(source.slice(at));
  return `${source.slice(0, at)}${call}${isEmpty ? '' : ', '}${source.slice(at)}`;
}

function withImport(source: string | undefined): string | undefined {
  if (source === undefined) return undefined;
  const line = "import { RateLimitModule } from 'nestjs-redis-rate-limit';\n";
  const last = [...source.matchAll(/^import [^;]*;\r?\n/gm)].at(-1);
  const at = last ? last.index + last[0].length : 0;
  return source.slice(0, at) + line + source.slice(at);
}

/** Sets the URL in `.env`, or in `.env.example` if there is no `.env`. */
function setVariable(tree: Tree, { logger }: Context): void {
  const path = tree.exists('.env') ? '.env' : '.env.example';
  const before = tree.exists(path) ? tree.readText(path) : '';
  if (/^REDIS_URL=/m.test(before)) return;
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const text = `${before}${separator}REDIS_URL=redis://localhost:6379\n`;
  if (tree.exists(path)) tree.overwrite(path, text);
  else tree.create(path, text);
  logger.info(`${path} has REDIS_URL. Without it in the environment, each process counts in its memory.`);
}

function addClient(tree: Tree, context: Context, skipInstall: boolean): void {
  const path = 'package.json';
  const manifest = JSON.parse(tree.readText(path)) as { dependencies?: Record<string, string> };
  if (manifest.dependencies?.['ioredis']) return;
  const dependencies = Object.entries({ ...manifest.dependencies, ioredis: IOREDIS }).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  tree.overwrite(
    path,
    `${JSON.stringify({ ...manifest, dependencies: Object.fromEntries(dependencies) }, null, 2)}\n`,
  );
  if (skipInstall) return;
  // The task of @angular-devkit/schematics that runs the package manager of the project.
  context.addTask({
    toConfiguration: () => ({ name: 'node-package', options: { command: 'install', quiet: true } }),
  });
}
