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
  const code = blanked(source ?? '');
  if (/\bRateLimitModule\s*\.\s*forRoot/.test(code)) {
    logger.info(`${path} has RateLimitModule already.`);
    return;
  }
  const changed = source && withModule(source, code, call);
  if (changed) tree.overwrite(path, withImport(changed, code));
  else logger.warn(`Add this to the imports of the root module, which ${path} does not list: ${call}`);
}

/** Comments, strings and regular expressions. */
const TEXT =
  /\/\*[^]*?\*\/|\/\/.*|(['"])(?:\\[^]|(?!\1)[^\\\n])*\1|`(?:\\[^]|[^`\\])*`|(?<=[(,=:[!&|?]\s*)\/(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/[\\\n])+\//g;

/** Returns source of equal length without comments and text, where each bracket is one of the syntax. */
function blanked(source: string): string {
  return source.replace(TEXT, (text) => {
    if (/^.imports.$/.test(text)) return ' imports '; // A quoted key.
    return /^['"]/.test(text)
      ? `${text[0]}${' '.repeat(text.length - 2)}${text[0]}`
      : ' '.repeat(text.length);
  });
}

/** Adds a module behind the imports of the first decorator; `undefined` if it has none that can be extended. */
function withModule(source: string, code: string, call: string): string | undefined {
  const decorator = /@Module\(\s*\{/.exec(code);
  if (!decorator) return undefined;
  const start = decorator.index + decorator[0].length;
  const own = ownCode(code.slice(start));
  if (!/^\}\s*,?\s*\)/.test(code.slice(start + own.length))) return undefined; // No `})` ends the decorator.
  const list = /(?:^|,)\s*imports\s*:\s*\[/.exec(own);
  if (list) {
    const from = start + list.index + list[0].length;
    const others = code.slice(from, from + ownCode(code.slice(from)).length).trimEnd();
    const at = from + others.length;
    const before = others === '' ? '' : others.endsWith(',') ? ' ' : ', ';
    return `${source.slice(0, at)}${before}${call}${source.slice(at)}`;
  }
  if (/\bimports\b|\.\.\./.test(own)) return undefined;
  return `${source.slice(0, start)}\n  imports: [${call}],${source.slice(start)}`;
}

/** Returns the code up to the end of its object or list, of equal length, with what is nested blanked. */
function ownCode(code: string): string {
  let depth = 0;
  let own = '';
  for (const character of code.split('')) {
    if (/[)\]}]/.test(character)) depth -= 1;
    if (depth < 0) break;
    own += depth === 0 ? character : ' ';
    if (/[([{]/.test(character)) depth += 1;
  }
  return own;
}

/** @param code of the source before the module was added, which is behind its imports */
function withImport(source: string, code: string): string {
  const imports = [...code.matchAll(/^import\b[^;'"]*(['"]) *\1.*\r?\n/gm)];
  if (imports.some(([text]) => /\bRateLimitModule\b/.test(text))) return source;
  const last = imports.at(-1);
  const at = last ? last.index + last[0].length : 0;
  return `${source.slice(0, at)}import { RateLimitModule } from 'nestjs-redis-rate-limit';\n${source.slice(at)}`;
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
  const entries = Object.entries({ ...manifest.dependencies, ioredis: IOREDIS });
  const dependencies = Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  tree.overwrite(path, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
  if (skipInstall) return;
  // The task of @angular-devkit/schematics that runs the package manager of the project.
  context.addTask({
    toConfiguration: () => ({ name: 'node-package', options: { command: 'install', quiet: true } }),
  });
}
