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
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runScript } from '../docs/run-script.js';
import { runCommand } from '../packaging/run-command.js';
import { pathOf } from '../readme/code-blocks.js';

jest.setTimeout(180_000);

const COMPILE = [
  ...['--ignoreConfig', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext'],
  ...['--experimentalDecorators', '--emitDecoratorMetadata', '--strict', '--isolatedModules'],
  ...['--skipLibCheck', '--types', 'node'],
];

let folder: string;

beforeAll(() => {
  // Below the project, so that the applications find its packages, and the package itself by its name.
  mkdirSync(pathOf('.cache'), { recursive: true });
  folder = mkdtempSync(pathOf('.cache/migrate-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Copies an application of fixtures, and returns its folder. */
function application(name: string): string {
  const copy = mkdtempSync(join(folder, `${name}-`));
  cpSync(pathOf(`test/migrate/fixtures/${name}`), copy, { recursive: true });
  return copy;
}

function migrate(path: string, ...options: string[]): Promise<string> {
  return runScript('dist/esm/cli.js', 'migrate', path, ...options);
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
    pathOf('node_modules/typescript/bin/tsc'),
    ...COMPILE,
    'app.module.ts',
  );
  return JSON.parse(
    await runScript('test/migrate/run-app.mjs', join(path, 'app.module.js'), JSON.stringify(requests)),
  );
}

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
  },
])('migrate: $what', ({ name, requests, denied }) => {
  it('the migrated application compiles and answers each request as before', async () => {
    const path = application(name);
    const before = (await answers(path, requests)) as unknown[][];
    expect(before.filter(([, status]) => status === 429)).toHaveLength(denied);
    expect(await migrate(path)).toContain('Left to you: 0.');
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
    expect(await migrate(path)).toContain('Left to you: 0.');
    expect(textIn(outside)).toBe(before);
  });

  it('says in one line that a path is wrong', async () => {
    await expect(migrate('nowhere')).rejects.toThrow(
      /nowhere"; allowed: a folder or a tsconfig.json that exists\n$/,
    );
    const text = join(application('named'), 'notes.txt');
    writeFileSync(text, 'no project');
    await expect(migrate(text)).rejects.toThrow(/notes.txt": .*allowed: a folder or a tsconfig.json\n$/s);
  });

  it('writes durations with a unit, and one decorator for each throttler', async () => {
    const path = application('named');
    await migrate(path);
    const text = textIn(path);
    expect(text).toContain("@RateLimit({ name: 'short', window: '90s', limit: 2 })");
    expect(text).toContain("@RateLimit({ name: 'long', limit: 3 })");
    expect(text).toContain("@RateLimit({ name: 'short', window: '1m', limit: 1, block: '2m' })");
    expect(text).toContain("@SkipRateLimit('short', 'long', 'default')");
    expect(text).toContain("window: '1h', limit: 2");
  });

  it('prints what it leaves alone, and why', async () => {
    const printed = await migrate(application('by-hand'));
    for (const line of [
      'the options are not a literal with `throttlers`',
      "generateKey: a rule's counter is that of its subject (`by`) and its route",
      'errorMessage: write body: (decision, context) =>',
      '@Throttle: its argument is no literal',
      "headerPrefix: write the option `headers`, such as headers: 'throttler'",
      'generateKey: write `subjectOf`, and the `scope` of the rule',
      'it is still imported from @nestjs/throttler',
    ])
      expect(printed).toContain(line);
  });

  it('with --dry prints the same and writes nothing', async () => {
    const path = application('by-hand');
    const before = textIn(path);
    expect(await migrate(path, '--dry')).toContain('errorMessage: write body');
    expect(textIn(path)).toBe(before);
  });

  it('prints how it is called if the command is unknown', async () => {
    await expect(runScript('dist/esm/cli.js', 'upgrade')).rejects.toMatchObject({
      stdout: expect.stringContaining('npx nestjs-redis-rate-limit migrate [path] [--dry]'),
    });
  });
});
