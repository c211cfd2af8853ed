import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as tsMorph from 'ts-morph';
import { migrate, type MigrateOptions } from '../../lib/migrate/migrate.js';
import { useTsMorph } from '../../lib/migrate/ts-morph.js';
import { runScript } from '../docs/run-script.js';
import { runCommand } from '../packaging/run-command.js';
import { pathOf } from '../readme/code-blocks.js';

jest.setTimeout(180_000);

const COMPILE = [
  ...['--ignoreConfig', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext'],
  ...['--experimentalDecorators', '--emitDecoratorMetadata', '--strict', '--isolatedModules'],
  ...['--skipLibCheck', '--types', 'node'],
];

/** Below the project, so that the applications find its packages, and the package itself by its name. */
let installed: string;
/** Applications without packages, whose types take most of the time of a migration. */
let bare: string;

beforeAll(() => {
  useTsMorph(tsMorph);
  mkdirSync(pathOf('.cache'), { recursive: true });
  installed = mkdtempSync(pathOf('.cache/migrate-'));
  bare = mkdtempSync(join(tmpdir(), 'migrate-'));
  writeFileSync(join(bare, 'tsconfig.json'), '{ "compilerOptions": { "lib": ["es2022"] } }');
});

afterAll(() => [installed, bare].forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Copies an application of fixtures, and returns its folder. */
function application(name: string, folder = bare): string {
  const copy = mkdtempSync(join(folder, `${name}-`));
  cpSync(pathOf(`test/migrate/fixtures/${name}`), copy, { recursive: true });
  return copy;
}

async function migrated(path: string, options: Partial<MigrateOptions> = {}) {
  const { lines, isSame } = await migrate(path, { dryRun: false, force: false, ...options });
  return { text: lines.join('\n'), isSame };
}

/** Migrates an application with the command line, and returns what was printed and the exit code. */
async function attempt(path: string, ...options: string[]): Promise<{ printed: string; exitCode: number }> {
  try {
    return { printed: await runScript('dist/esm/cli.js', 'migrate', path, ...options), exitCode: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
    return { printed: stdout + stderr, exitCode: code };
  }
}

function textIn(path: string): string {
  return readdirSync(path)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(path, name), 'utf8'))
    .join('\n');
}

/** Compiles an application, and sends requests to it. */
async function answers(path: string, requests: readonly unknown[]): Promise<unknown> {
  await runCommand(
    path,
    process.execPath,
    pathOf('node_modules/typescript-7/bin/tsc'),
    ...COMPILE,
    'app.module.ts',
  );
  return JSON.parse(
    await runScript('test/migrate/run-app.mjs', join(path, 'app.module.js'), JSON.stringify(requests)),
  );
}

/** Apollo answers a GET only with such a header. */
const PREFLIGHT = { 'apollo-require-preflight': 'yes' };

const repeated = (times: number, path: string, headers = {}) =>
  Array.from({ length: times }, () => [path, headers]);

describe.each([
  {
    name: 'named',
    what: 'named throttlers, decorators and a message',
    requests: [
      ...repeated(3, '/orders'),
      ...repeated(3, '/default-skipped'),
      ...repeated(6, '/skipped'),
      ...repeated(2, '/one'),
      ...repeated(3, '/reports/again'),
      ...repeated(1, '/reports/again', { 'x-skip': 'yes' }),
      ...repeated(6, '/reports'),
    ],
    denied: 4,
  },
  {
    name: 'async',
    what: 'forRootAsync, and a guard with its own tracker and exception',
    requests: [
      ...repeated(3, '/orders', { 'x-tenant': 'ann' }),
      ...repeated(3, '/orders', { 'x-tenant': 'bob' }),
      ...repeated(3, '/orders'),
      ...repeated(1, '/orders', { 'x-skip': 'yes' }),
    ],
    denied: 3,
    isKnown: false,
  },
  {
    name: 'composed',
    what: 'computed names, constants of other files, decorators in functions, and a guard that runs after that of throttler',
    requests: [
      ...repeated(4, '/computed'),
      ...repeated(3, '/composed'),
      ...repeated(2, '/constant', { 'x-key': 'wrong' }),
      ...repeated(1, '/constant'),
      ...repeated(6, '/skipped'),
    ],
    denied: 3,
  },
  {
    name: 'graphql',
    what: 'a guard of GraphQL that finds the request and its tracker',
    requests: [
      ...repeated(3, '/graphql?query={order(id:"1")}', { 'x-tenant': 'ann', ...PREFLIGHT }),
      ...repeated(3, '/graphql?query={order(id:"1")}', { 'x-tenant': 'bob', ...PREFLIGHT }),
    ],
    denied: 2,
  },
])('migrate: $what', ({ name, requests, denied, isKnown = true }) => {
  it('the migrated application compiles and answers each request as before', async () => {
    const path = application(name, installed);
    const before = (await answers(path, requests)) as unknown[][];
    expect(before.filter(([, status]) => status === 429)).toHaveLength(denied);
    const { text, isSame } = await migrated(path);
    expect(text).toContain('Left to you: 0.');
    expect([isSame, text.includes('   ! ')]).toEqual([isKnown, !isKnown]);
    expect(textIn(path)).not.toContain('@nestjs/throttler');
    expect(await answers(path, requests)).toEqual(before);
  });
});

describe('migrate', () => {
  it('leaves files alone to which a link leads out of the folder', async () => {
    const outside = application('named');
    const before = textIn(outside);
    const path = application('named');
    symlinkSync(outside, join(path, 'linked'));
    expect(await attempt(path)).toEqual({
      printed: expect.stringContaining('Left to you: 0.'),
      exitCode: 0,
    });
    expect(textIn(outside)).toBe(before);
  });

  it('says in one line that a path is wrong', async () => {
    expect((await attempt('nowhere')).printed).toMatch(
      /^.*nowhere"; allowed: a folder or a tsconfig.json that exists\n$/,
    );
    const text = join(application('named'), 'notes.txt');
    writeFileSync(text, 'no project');
    expect((await attempt(text)).printed).toMatch(/notes.txt": .*allowed: a folder or a tsconfig.json\n$/s);
  });

  it('writes durations with a unit, and one decorator for each throttler', async () => {
    const path = application('named');
    await migrated(path);
    const text = textIn(path);
    expect(text).toContain("@RateLimit({ name: 'short', window: '90s', limit: 2 })");
    expect(text).toContain("@RateLimit({ name: 'long', limit: 3 })");
    expect(text).toContain("@RateLimit({ name: 'short', window: '1m', limit: 1, block: '2m' })");
    expect(text).toContain("@SkipRateLimit('short', 'long', 'default')");
    expect(text).toContain("window: '1h', limit: 2");
  });

  it('marks what it cannot translate where it is, so that the application does not compile', async () => {
    const path = application('by-hand', installed);
    const { printed, exitCode } = await attempt(path);
    for (const line of [
      'the options are not a literal with `throttlers`',
      "generateKey: a rule's counter is that of its subject (`by`) and its route",
      'errorMessage: write body: (decision, context) =>',
      "headerPrefix: write the option `headers`, such as headers: 'throttler'",
      'generateKey: write `subjectOf`, and the `scope` of the rule',
      '@Throttle: its argument is no literal, or has a name that is no constant',
      '@Throttle: no throttler has the name "other", so it limited nothing',
      'a decorator of throttler that is not called here',
      'it is still imported from @nestjs/throttler',
    ])
      expect(printed).toContain(line);
    expect(exitCode).toBe(1);
    const text = textIn(path);
    expect(text).toContain('@MIGRATE_BY_HAND(Throttle(limitsOf()), "@Throttle: its argument is no literal');
    expect(text).toContain(
      '@MIGRATE_BY_HAND(Throttle({ other: { limit: 1, ttl: 1000 } }), "@Throttle: no throttler',
    );
    expect(text).toContain('MIGRATE_BY_HAND = MIGRATE_BY_HAND("headerPrefix: write the option');
    await expect(answers(path, [])).rejects.toThrow("Cannot find name 'MIGRATE_BY_HAND'");
  });

  it('prints the limits of every route before and after, and fails if one is not known', async () => {
    const path = application('composed');
    const file = join(path, 'app.module.ts');
    const before = readFileSync(file, 'utf8');
    expect((await migrated(path, { dryRun: true })).text.split('\n').slice(3, 8)).toEqual([
      '  route                    before                           after',
      '  AuthController.computed  auth 3 per 1m, burst 100 per 1s  auth 3 per 1m, burst 100 per 1s',
      '  AuthController.composed  auth 2 per 1m, burst 9 per 1s    auth 2 per 1m, burst 9 per 1s',
      '  AuthController.constant  auth 2 per 1m, burst 100 per 1s  auth 2 per 1m, burst 100 per 1s',
      '  AuthController.skipped   none                             none',
    ]);
    writeFileSync(file, before.replace('limit: LIMITS.login,', 'limit: Number(process.env.LIMIT),'));
    expect(await migrated(path, { dryRun: true })).toEqual({
      text: expect.stringMatching(/computed +auth unknown per 1m, .* ! not known\n/),
      isSame: false,
    });
    writeFileSync(file, before.replace('@Throttle({ [AUTH]:', '@Throttle({ [process.env.NAME!]:'));
    const { text, isSame } = await migrated(path);
    expect([isSame, text.includes('a name that is no constant')]).toEqual([false, true]);
  });

  it('does not take a route whose guard and limit are in a function for one without a limit', async () => {
    const path = application('composed');
    const file = join(path, 'app.module.ts');
    const guarded = readFileSync(file, 'utf8')
      .replace('AuthGet, LIMITS', 'AuthGet, Guarded, LIMITS')
      .replace("@AuthGet('composed')", "@Guarded(3)\n  @AuthGet('composed')")
      .replace('providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],', '');
    writeFileSync(file, guarded);
    const { text, isSame } = await migrated(path, { dryRun: true });
    expect(text).toMatch(/computed +none +none\n/);
    expect(text).toMatch(/composed +auth unknown per 1m, .* ! not known\n/);
    expect(isSame).toBe(false);
  });

  it.each([
    [
      "import * as throttler from '@nestjs/throttler';\nexport const used = throttler.Throttle;\n",
      'imported as a whole',
    ],
    ["export { Throttle } from '@nestjs/throttler';\n", 'it exports names of @nestjs/throttler'],
  ])('does not call a file done in which it finds no uses: %s', async (other, reason) => {
    const path = application('composed');
    writeFileSync(join(path, 'other.ts'), other);
    const { text, isSame } = await migrated(path, { dryRun: true });
    expect([isSame, text.includes(reason)]).toEqual([false, true]);
  });

  it('prints only changed places anew', async () => {
    const path = application('composed');
    const file = join(path, 'app.module.ts');
    const odd = "computed(  ): string { return 'as    it was formatted' }";
    writeFileSync(file, readFileSync(file, 'utf8').replace(/computed\(\): string \{[^}]*\}/, odd));
    await migrated(path);
    expect(textIn(path)).toContain(odd);
  });

  it('refuses a folder with uncommitted changes, unless it is told', async () => {
    const path = application('named');
    await runCommand(path, 'git', 'init', '--quiet');
    const before = textIn(path);
    expect(await attempt(path)).toEqual({
      printed: `path: "${path}" has uncommitted changes; commit or stash them, or write --force\n`,
      exitCode: 1,
    });
    expect(textIn(path)).toBe(before);
    expect((await migrated(path, { dryRun: true })).text).toContain('(--dry-run: nothing is written)');
    expect((await migrated(path, { force: true })).text).toContain('Every route has the limits that it had.');
  });

  it('with --dry-run prints the same and writes nothing', async () => {
    const path = application('by-hand');
    const before = textIn(path);
    expect((await migrated(path, { dryRun: true })).text).toContain('errorMessage: write body');
    expect(textIn(path)).toBe(before);
  });

  it.each([
    [['migrate', '--dry'], 'option of migrate: got "--dry"; allowed: --dry-run, --force'],
    [['migrate', 'a', 'b'], 'paths: got ["a","b"]; allowed: one folder or tsconfig.json'],
    [['upgrade'], 'command: got "upgrade"; allowed: migrate, simulate'],
  ])('names what is wrong with the arguments: %j', async (args, message) => {
    await expect(runScript('dist/esm/cli.js', ...args)).rejects.toMatchObject({
      stderr: expect.stringContaining(message),
    });
  });

  it('prints how it is called if the command is unknown', async () => {
    await expect(runScript('dist/esm/cli.js', 'upgrade')).rejects.toMatchObject({
      stdout: expect.stringContaining('npx nestjs-redis-rate-limit migrate [path] [--dry-run] [--force]'),
    });
  });
});

it('decorators that a file exports or hands on are marked, so that it does not compile without them', async () => {
  const path = mkdtempSync(join(bare, 'exported-'));
  const file = join(path, 'limits.ts');
  writeFileSync(
    file,
    [
      "import { Throttle, SkipThrottle as Skip } from '@nestjs/throttler';",
      'export { Throttle as Limit, Skip };',
      'export const kit = { Skip };',
      'export type Decorator = typeof Throttle;',
    ].join('\n'),
  );
  expect(await migrated(path)).toEqual({
    text: expect.stringContaining('a decorator of throttler that is not called'),
    isSame: false,
  });
  const after = readFileSync(file, 'utf8');
  expect(after).toContain('export { MIGRATE_BY_HAND as Limit, MIGRATE_BY_HAND as Skip };');
  expect(after).toContain('export const kit = { Skip: MIGRATE_BY_HAND(Skip, ');
  expect(after).toContain('export type Decorator = typeof MIGRATE_BY_HAND;');
});
