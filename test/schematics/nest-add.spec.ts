import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { outsideJest } from '../packaging/run-command.js';
import { pathOf } from '../readme/code-blocks.js';

const MODULE = `import { Module } from '@nestjs/common';
import { AppController } from './app.controller';

@Module({
  imports: [],
  controllers: [AppController],
})
export class AppModule {}
`;

let folder: string;

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the schematic as the Nest CLI does, in a project with these files, and returns what it prints. */
async function add(files: Readonly<Record<string, string>>, ...options: string[]): Promise<string> {
  folder = mkdtempSync(join(tmpdir(), 'nest-add-'));
  for (const [file, text] of Object.entries({ 'package.json': '{}', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const runner = pathOf('node_modules/@angular-devkit/schematics-cli/bin/schematics.js');
  const schematic = `${pathOf('dist/cjs/collection.json')}:nest-add`;
  const given = ['--no-dry-run', '--no-debug', '--no-interactive', '--skip-install', ...options];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [runner, schematic, ...given], {
    cwd: folder,
    env: outsideJest(),
  });
  return stdout + stderr;
}

const textOf = (file: string): string => readFileSync(join(folder, file), 'utf8');

describe('nest add nestjs-redis-rate-limit', () => {
  it.each([
    { before: '[A]', after: '[A, ADDED]' },
    { before: '[A.forRoot({ list: [1] }),]', after: '[A.forRoot({ list: [1] }), ADDED]' },
    { before: '[\n    A, // first ]\n    B,\n  ]', after: '[\n    A, // first ]\n    B, ADDED\n  ]' },
  ])('adds the module behind $before, since ConfigModule reads `.env`', async ({ before, after }) => {
    await add({ 'src/app.module.ts': MODULE.replace('[]', before) }, '--redis=false');
    const module = textOf('src/app.module.ts').replace(/RateLimitModule\.forRoot\(.*\} \}\)/, 'ADDED');
    expect(module).toContain(`imports: ${after}`);
  });

  it.each([
    { what: 'an application', root: 'src' },
    { what: 'an application of a monorepo', root: 'apps/shop/src' },
  ])('imports the module and sets the URL of Redis in $what', async ({ root }) => {
    await add({ [`${root}/app.module.ts`]: MODULE }, `--source-root=${root}`);
    const module = textOf(`${root}/app.module.ts`);
    expect(module).toContain("import { RateLimitModule } from 'nestjs-redis-rate-limit';\n\n@Module");
    expect(module).toContain(
      "imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL, rules: { default: { window: '1m', limit: 100 } } })],",
    );
    expect(textOf('.env.example')).toBe('REDIS_URL=redis://localhost:6379\n');
    expect(JSON.parse(textOf('package.json'))).toHaveProperty('dependencies.ioredis');
  });

  it('counts in memory and adds no client with --redis=false', async () => {
    await add({ 'src/app.module.ts': MODULE }, '--redis=false');
    expect(textOf('src/app.module.ts')).toContain(
      "RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 100 } } })",
    );
    expect(existsSync(join(folder, '.env.example'))).toBe(false);
    expect(textOf('package.json')).toBe('{}');
  });

  it('keeps other imports of the module, and the variables of .env', async () => {
    const others = MODULE.replace('imports: []', 'imports: [ConfigModule]');
    await add({ 'src/app.module.ts': others, '.env': 'PORT=3000' });
    expect(textOf('src/app.module.ts')).toMatch(/imports: \[ConfigModule, RateLimitModule[.]forRoot\(.*\)\]/);
    expect(textOf('.env')).toBe('PORT=3000\nREDIS_URL=redis://localhost:6379\n');
  });

  it('changes nothing in a module that has RateLimitModule', async () => {
    const limited = MODULE.replace('imports: []', 'imports: [RateLimitModule.forRoot()]');
    await add({ 'src/app.module.ts': limited });
    expect(textOf('src/app.module.ts')).toBe(limited);
  });

  it.each([
    {
      what: 'behind a comment with imports and a mention of RateLimitModule',
      before: '@Module({\n  // TODO: RateLimitModule in imports: [FooModule],\n  controllers: [],\n})',
      after:
        '@Module({\n  imports: [ADDED],\n  // TODO: RateLimitModule in imports: [FooModule],\n  controllers: [],\n})',
    },
    {
      what: 'behind imports of another object, in a string and in a regular expression',
      before:
        "@Module({ providers: [make({ imports: [1] }, 'imports: [', /['] imports: \\[/)], imports: [Y] })",
      after:
        "@Module({ providers: [make({ imports: [1] }, 'imports: [', /['] imports: \\[/)], imports: [Y, ADDED] })",
    },
    {
      what: 'of the first of two modules',
      before: '@Module({ providers: [] })\nexport class AppModule {}\n@Module({ imports: [X] })',
      after:
        '@Module({\n  imports: [ADDED], providers: [] })\nexport class AppModule {}\n@Module({ imports: [X] })',
    },
    {
      what: 'with a quoted key',
      before: "@Module({ 'imports': [/* none */] })",
      after: "@Module({ 'imports': [ADDED/* none */] })",
    },
  ])('adds the module to the imports of the decorator $what', async ({ before, after }) => {
    // Without semicolons, and with a class whose semicolon ends a line.
    const [head, tail] = [
      "import { Module } from '@nestjs/common'\n",
      '\nexport class Last { a() { return 1 };\n}\n',
    ];
    await add({ 'src/app.module.ts': head + before + tail });
    const added =
      "RateLimitModule.forRoot({ redis: process.env.REDIS_URL, rules: { default: { window: '1m', limit: 100 } } })";
    const line = "import { RateLimitModule } from 'nestjs-redis-rate-limit';\n";
    expect(textOf('src/app.module.ts')).toBe(head + line + after.replace('ADDED', added) + tail);
  });

  it.each([
    { what: 'are a constant', decorator: '@Module({ imports: MODULES })' },
    { what: 'may be those of a spread object', decorator: '@Module({ ...metadata, providers: [] })' },
    { what: 'are in another object', decorator: 'const metadata = { imports: [Y] };\n@Module(metadata)' },
    { what: 'are in a decorator that a comment mentions', decorator: '// @Module({ imports: [] })' },
  ])('prints what to write, and leaves the module unchanged, if its imports $what', async ({ decorator }) => {
    const source = `import { Module } from '@nestjs/common';\n${decorator}\nexport class AppModule {}\n`;
    const printed = await add({ 'src/app.module.ts': source });
    expect(textOf('src/app.module.ts')).toBe(source);
    expect(printed).toContain('Add this to the imports of the root module');
    expect(printed).toContain('RateLimitModule.forRoot({ redis: process.env.REDIS_URL');
  });
});
