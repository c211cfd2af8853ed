import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import * as tsMorph from 'ts-morph';
import { migrate } from '../../lib/migrate/migrate.js';
import { useTsMorph } from '../../lib/migrate/ts-morph.js';

let folder: string;

beforeAll(() => {
  useTsMorph(tsMorph);
  folder = mkdtempSync(join(tmpdir(), 'migrate-limits-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const IMPORTS = `
import { applyDecorators, Controller, Get, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
`;

const GUARD = '{ provide: APP_GUARD, useClass: ThrottlerGuard }';

/** An application of some classes, with throttlers of its own. */
const app = (classes: string, throttlers = '[{ ttl: 60_000, limit: 10 }]', providers = GUARD): string =>
  `${IMPORTS}${classes}
@Module({ imports: [ThrottlerModule.forRoot(${throttlers})], providers: [${providers}] })
export class AppModule {}`;

const strict = (limit: number): string => `Throttle({ default: { limit: ${limit}, ttl: 60_000 } })`;

/** Without the types of the DOM, which take most of the time of a migration. */
const LIB = '{ "compilerOptions": { "lib": ["es2022"] } }';

/** Migrates the files of an application: what was printed, each row of the table, and the files afterwards. */
async function migrated(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(folder, 'app-'));
  for (const [name, text] of Object.entries({ 'tsconfig.json': LIB, ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { lines, isSame } = await migrate(root, { dryRun: false, force: true });
  const rows = lines.map((line) => line.trim().split(/ {2,}/)).filter(([route]) => /^\w+\.\w+$/.test(route!));
  const text = (name: string): string => readFileSync(join(root, name), 'utf8');
  return { printed: lines.join('\n'), isSame, rows, text };
}

it('the table follows decorators in constants, in helpers of helpers, and those that a class inherits', async () => {
  const { rows, isSame } = await migrated({
    'strict.ts': `import { Throttle } from '@nestjs/throttler';\nexport const Strict = ${strict(3)};`,
    'app.module.ts': app(`
      import { Strict } from './strict';
      const inner = () => ${strict(4)};
      const Outer = (path: string) => applyDecorators(inner(), Get(path));
      abstract class Base { @Get('inherited') inherited() {} }
      @${strict(2)} @Controller() export class Routes extends Base {
        @Strict @Get('constant') constant() {}
        @Outer('nested') nested() {}
      }
      export namespace v2 {
        @SkipThrottle() @Controller() export class Skipped extends Base {}
      }`),
  });
  expect(rows).toEqual([
    ['Routes.inherited', 'default 2 per 1m', 'default 2 per 1m'],
    ['Routes.constant', 'default 3 per 1m', 'default 3 per 1m'],
    ['Routes.nested', 'default 4 per 1m', 'default 4 per 1m'],
    ['Skipped.inherited', 'none', 'none'],
  ]);
  expect(isSame).toBe(true);
});

it('a limit that a condition leaves out is not printed as known', async () => {
  const { rows, isSame } = await migrated({
    'app.module.ts': app(`
      const isLive = process.env.LIVE === 'yes';
      const Limited = () => (isLive ? ${strict(2)} : SkipThrottle());
      const Early = () => { if (!isLive) return applyDecorators(); return ${strict(2)}; };
      @Controller() export class Routes {
        @(isLive ? ${strict(1)} : SkipThrottle()) @Get('a') a() {}
        @Limited() @Get('b') b() {}
        @Early() @Get('c') c() {}
      }`),
  });
  expect(rows.map((row) => row.at(-1))).toEqual([
    expect.stringContaining('!'),
    expect.stringContaining('!'),
    expect.stringContaining('!'),
  ]);
  expect(isSame).toBe(false);
});

it('options that depend on a condition are printed as unknown, not as the first option', async () => {
  const factory = `{ useFactory: () => {
    if (process.env.LIVE) return [{ ttl: 1000, limit: 1 }];
    return [{ ttl: 1000, limit: 1000 }];
  } }`;
  const { rows } = await migrated({
    'app.module.ts': app('@Controller() class Routes { @Get() get() {} }', factory).replace(
      'forRoot',
      'forRootAsync',
    ),
  });
  expect(rows).toEqual([['Routes.get', 'unknown', 'unknown', '! not known']]);
});

it.each([
  ['useGlobalGuards', '', 'app.useGlobalGuards(new ThrottlerGuard());'],
  [
    'a factory',
    '{ provide: APP_GUARD, useFactory: (guard: ThrottlerGuard) => guard, inject: [ThrottlerGuard] }',
    '',
  ],
  ['a subclass of an alias', '{ provide: APP_GUARD, useClass: Own }', 'class Own extends ThrottlerGuard {}'],
])('a guard that is registered by %s limits the routes of the table', async (_name, provider, code) => {
  const text = app(`${code} @Controller() class Routes { @Get() get() {} }`, undefined, provider);
  const { rows } = await migrated({
    'app.module.ts': text
      .replaceAll(/ThrottlerGuard\b/g, 'Guard')
      .replace('Guard,', 'ThrottlerGuard as Guard,'),
  });
  expect(rows).toEqual([['Routes.get', 'default 10 per 1m', 'default 10 per 1m']]);
});

it('an application does not get the limits, or the guard, of another in the same folder', async () => {
  const { printed, rows, isSame, text } = await migrated({
    'a.ts': app('@Controller() class First { @Get() get() {} }'),
    'b.ts': app('@Controller() class Second { @Get() get() {} }', '[{ ttl: 1000, limit: 99 }]', ''),
  });
  expect(printed).toContain('several calls configure throttler; give the folder of one application');
  expect(text('b.ts')).toContain('MIGRATE_BY_HAND(ThrottlerModule.forRoot');
  expect(rows.map(([, before]) => before)).toEqual(['unknown', 'unknown']);
  expect(isSame).toBe(false);
});

it('the limits of a test are not those of the application', async () => {
  const { rows, isSame, text } = await migrated({
    'app.module.ts': app('@Controller() class Routes { @Get() get() {} }'),
    'z.e2e-spec.ts': app('', '[{ ttl: 1, limit: 1_000_000 }]').replace('AppModule', 'TestModule'),
  });
  expect(rows).toEqual([['Routes.get', 'default 10 per 1m', 'default 10 per 1m']]);
  expect(text('z.e2e-spec.ts')).toContain('RateLimitModule.forRoot');
  expect(isSame).toBe(true);
});

it.each([
  ['app.js', "const { Throttle } = require('@nestjs/throttler');", 'is no TypeScript'],
  ['app.jsx', "const { Throttle } = require('@nestjs/throttler');", 'is no TypeScript'],
  ['app.ts', "const { Throttle } = require('@nestjs/throttler');", 'without naming what it uses'],
  ['app.ts', "import throttler = require('@nestjs/throttler');", 'without naming what it uses'],
  ['app.ts', "export const guard = () => import('@nestjs/throttler');", 'without naming what it uses'],
])('a file is not passed over in silence: %s with %s', async (name, text, why) => {
  const { printed, isSame } = await migrated({ [name]: text });
  expect([printed, isSame]).toEqual([expect.stringContaining(why), false]);
});

it('a helper outside the folder that still uses throttler is named', async () => {
  const shared = join(folder, 'shared.ts');
  writeFileSync(
    shared,
    `import { Throttle } from '@nestjs/throttler';\nexport const Strict = () => ${strict(3)};`,
  );
  const { printed, rows } = await migrated({
    'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { '@shared': ['../shared.ts'] } } }),
    'app.module.ts': app(
      "import { Strict } from '@shared';\n@Controller() class Routes { @Strict() @Get() get() {} }",
    ),
  });
  expect(printed).toContain('it imports @nestjs/throttler outside the folder');
  expect(rows).toEqual([['Routes.get', 'default 3 per 1m', 'default 10 per 1m', '! differs']]);
});

it('the width of an IPv6 network and the user agents of all throttlers stay in force', async () => {
  const { text } = await migrated({
    'app.module.ts': app(
      '@Controller() class Routes { @Get() get() {} }',
      '{ ipv6SubnetPrefix: 48, ignoreUserAgents: [/bot/], throttlers: [{ ttl: 1000, limit: 1, skipIf: () => false }] }',
    ),
  });
  expect(text('app.module.ts')).toMatch(/defaults: \{ ipv6Prefix: 48, /);
  expect(text('app.module.ts')).toMatch(
    /limit: 1, skipIf: \(context\) => \(\(\) => false\)\(\) \|\| \[\/bot\/\]/,
  );
});

it('fields that @Throttle ignores have no effect afterwards', async () => {
  const { text, isSame } = await migrated({
    'app.module.ts': app(`
      const STRICT = { ttl: 60_000, limit: 3, skipIf: () => true, ignoreUserAgents: [/bot/], ipv6SubnetPrefix: 32 };
      @Controller() class Routes { @Throttle({ default: STRICT }) @Get() get() {} }`),
  });
  expect(text('app.module.ts')).toContain("@RateLimit({ window: '1m', limit: 3 })");
  expect(isSame).toBe(true);
});

it('a decorator that names no throttler, and two throttlers of one name, are marked', async () => {
  const { text, isSame } = await migrated({
    'app.module.ts': app(
      '@Controller() class Routes { @SkipThrottle({}) @Get() get() {} }',
      '[{ name: "a", ttl: 1, limit: 1 }]',
    ),
  });
  expect(text('app.module.ts')).toContain(
    '@MIGRATE_BY_HAND(SkipThrottle({}), "@SkipThrottle: names no throttler',
  );
  expect(isSame).toBe(false);
  const twice = await migrated({ 'app.module.ts': app('', '[{ ttl: 1, limit: 1 }, { ttl: 2, limit: 2 }]') });
  expect(twice.text('app.module.ts')).toContain('MIGRATE_BY_HAND(ThrottlerModule.forRoot(');
});

const guard = (members: string): string => `class Own extends ThrottlerGuard { ${members} }`;

const OWN = '{ provide: APP_GUARD, useClass: Own }';

const TRACKER = "protected async getTracker(req: any) { return req.headers['x-tenant']; }";

it.each([
  ['@Throttle', '@Throttle({ default: { limit: 1, ttl: 1, getTracker: (req) => req.ip } })', undefined],
  ['a throttler', '', '[{ limit: 1, ttl: 1, async getTracker(req) { return req.ip; } }]'],
])(
  'the tracker of a guard is marked if %s has one, which precedes it',
  async (_where, decorator, options) => {
    const routes = `${guard(TRACKER)} @Controller() class Routes { ${decorator} @Get() get() {} }`;
    const { text, printed, isSame } = await migrated({ 'app.module.ts': app(routes, options, OWN) });
    expect(text('app.module.ts')).not.toContain('subjectOf(');
    expect(printed).toContain('write it as `by` in `defaults`');
    expect(isSame).toBe(false);
  },
);

it.each([
  ['`${await super.getTracker(req)}-${req.method}`', undefined],
  ["(await super.getTracker(req)) ?? 'none'", undefined],
  ['super.getTracker(req).then((ip) => `ip-${ip}`)', undefined],
  ["super.getTracker({ ip: req.headers['cf-ip'] })", undefined],
  ['[req].map((each) => { return super.getTracker(req); })[0]', undefined],
  ['super.getTracker(req)', 'undefined'],
  [
    "req.headers['x-key'] ? req.headers['x-key'] : await super.getTracker(req)",
    "req.headers['x-key'] : undefined",
  ],
  ["req.user?.id || (req.ok ? (await super.getTracker(req)) : 'bad')", "(undefined) : 'bad')"],
])('the default tracker becomes undefined only as the result of a guard: %s', async (value, after) => {
  const tracker = `async getTracker(req: any) { return ${value}; }`;
  const routes = `${guard(tracker)} @Controller() class Routes { @Get() get() {} }`;
  const { text, isSame } = await migrated({ 'app.module.ts': app(routes, undefined, OWN) });
  expect(text('app.module.ts')).toContain(after ?? 'MIGRATE_BY_HAND("getTracker: only a returned');
  expect(isSame).toBe(after !== undefined);
});

it.each(["console.log('limited');", "if (context) return; throw new Error('limited');"])(
  'an exception of a guard that does not always throw is marked: %s',
  async (body) => {
    const denial = `async throwThrottlingException(context: any) { ${body} }`;
    const routes = `${guard(denial)} @Controller() class Routes { @Get() get() {} }`;
    const { text, printed, isSame } = await migrated({ 'app.module.ts': app(routes, undefined, OWN) });
    expect(text('app.module.ts')).toContain('MIGRATE_BY_HAND("throwThrottlingException: it may return');
    expect(printed).toContain("mode: 'shadow'");
    expect(isSame).toBe(false);
  },
);

it('the request that a guard without a tracker finds is left to the user, since it may change the address', async () => {
  const request = "getRequestResponse(context: any) { return { req: { ip: 'other' }, res: {} }; }";
  const routes = (members: string) => `${guard(members)} @Controller() class Routes { @Get() get() {} }`;
  const alone = await migrated({ 'app.module.ts': app(routes(request), undefined, OWN) });
  expect([alone.isSame, alone.printed.includes('if it changes the address, write `by`')]).toEqual([
    false,
    true,
  ]);
  const tracked = await migrated({ 'app.module.ts': app(routes(request + TRACKER), undefined, OWN) });
  expect(tracked.isSame).toBe(true);
});

it('files with JSX are migrated, and what they compile to beside them is not listed', async () => {
  const routes = `import { Controller, Get } from '@nestjs/common';
    import { Throttle } from '@nestjs/throttler';
    @Controller() export class Pages { @${strict(1)} @Get() get() { return <p>page</p>; } }`;
  const { rows, isSame, text } = await migrated({
    'app.module.ts': app(''),
    'pages.tsx': routes,
    'pages.js': "require('@nestjs/throttler');",
  });
  expect(rows).toEqual([['Pages.get', 'default 1 per 1m', 'default 1 per 1m']]);
  expect(text('pages.tsx')).toContain(
    "@RateLimit({ window: '1m', limit: 1 }) @Get() get() { return <p>page</p>; }",
  );
  expect(isSame).toBe(true);
});

it.each([
  ['a global guard', '@UseGuards(Own) @Get()', GUARD],
  ['the guard of its class', '@UseGuards(Own) @Get()', '', '@UseGuards(ThrottlerGuard)'],
  ['a guard in the same decorator', '@UseGuards(ThrottlerGuard, Own) @Get()', ''],
  ['a second global guard', '@Get()', `${GUARD}, ${OWN}`],
  ['no other guard', "@UseGuards(Own) @Get() only() {} @UseGuards(ThrottlerGuard) @Get('b')", '', ''],
])(
  'a guard with hooks is marked if a request passes it and %s',
  async (other, route, providers, type = '') => {
    const routes = `${guard(TRACKER)} ${type} @Controller() class Routes { ${route} get() {} }`;
    const { text, isSame } = await migrated({ 'app.module.ts': app(routes, undefined, providers) });
    const isAlone = other === 'no other guard';
    expect(text('app.module.ts').includes('write two rules with different `by`')).toBe(!isAlone);
    expect(isSame).toBe(isAlone);
  },
);

it.each([
  ['in its order', `${GUARD}, { provide: APP_GUARD, useClass: KeyGuard }`],
  ['under its condition', `...(process.env.LIVE ? [${GUARD}] : [])`],
])('the provider of the global guard stays where it is, %s', async (_how, providers) => {
  const { text, isSame } = await migrated({
    'app.module.ts': app('@Controller() class Routes { @Get() get() {} }', undefined, providers),
  });
  const after = text('app.module.ts');
  expect(after).toContain(`providers: [${providers.replace('ThrottlerGuard', 'RateLimitGuard')}]`);
  expect(after).toContain('registerGuard: false');
  expect(isSame).toBe(true);
});

it.each([
  ['an assignment', 'LIMITS.strict = 500;'],
  ['an increment', 'LIMITS.strict++;'],
  ['Object.assign', 'Object.assign(LIMITS, { strict: 500 });'],
  ['a function', 'loadLimits(LIMITS);'],
  ['another name of it', 'const same = LIMITS; same.strict = 500;'],
  ['another file', '', "import { LIMITS as L } from './app.module';\nL['strict'] = 500;"],
])('a constant object that %s changes is not read as it is written', async (_how, code, other = '') => {
  const { rows, isSame } = await migrated({
    'app.module.ts': app(`
      declare function loadLimits(limits: object): void;
      export const LIMITS = { strict: 3 };
      ${code}
      @Controller() export class Routes {
        @Throttle({ default: { limit: LIMITS.strict, ttl: 1000 } }) @Get() get() {}
      }`),
    'other.ts': other,
  });
  expect(rows).toEqual([['Routes.get', 'default unknown per 1s', 'default unknown per 1s', '! not known']]);
  expect(isSame).toBe(false);
});

it('the table has the value of a constant object that the program only reads, freezes and copies', async () => {
  const { rows } = await migrated({
    'app.module.ts': app(`
      const LIMITS = Object.freeze({ strict: 3 });
      const OPTIONS = { default: { limit: 4, ttl: 1000 } };
      console.log(Object.keys(OPTIONS), { ...OPTIONS }, OPTIONS.default.limit === 4);
      @Controller() export class Routes {
        @Throttle({ default: { limit: LIMITS.strict, ttl: 1000 } }) @Get('a') a() {}
        @Throttle(OPTIONS) @Get('b') b() {}
      }`),
  });
  expect(rows.map(([, before]) => before)).toEqual(['default 3 per 1s', 'default 4 per 1s']);
});

it('the table says unknown for a list of throttlers to which the program adds another', async () => {
  const { rows } = await migrated({
    'app.module.ts': app(
      `const list = [{ ttl: 1000, limit: 9 }];
       list.push({ ttl: 1000, limit: 1 });
       @Controller() class Routes { @Get() get() {} }`,
      'list',
    ),
  });
  expect(rows).toEqual([['Routes.get', 'unknown', 'unknown', '! not known']]);
});

it.each([
  ['', "'THROTTLER:LIMITdefault'"],
  ['', '`THROTTLER:LIMIT${NAME}`'],
  ["import { THROTTLER_LIMIT } from '@nestjs/throttler/dist/throttler.constants';", 'THROTTLER_LIMIT + NAME'],
])("a limit in throttler's metadata, set by hand, is marked where it is: %s %s", async (line, key) => {
  const { rows, isSame, text } = await migrated({
    'app.module.ts': app(
      "import { Strict } from './strict';\n@Controller() class Routes { @Strict() @Get() get() {} }",
    ),
    'strict.ts': `import { SetMetadata } from '@nestjs/common';\n${line}
      const NAME = 'default';
      export const Strict = () => SetMetadata(${key}, 1);`,
  });
  expect(text('strict.ts')).toContain('SetMetadata(MIGRATE_BY_HAND(');
  expect(rows).toEqual([
    ['Routes.get', expect.stringContaining('unknown'), expect.stringContaining('unknown'), '! not known'],
  ]);
  expect(isSame).toBe(false);
});

it('decorators that are imported from a folder of throttler are migrated', async () => {
  const { rows, text } = await migrated({
    'app.module.ts': app(`@Controller() class Routes { @${strict(2)} @Get() get() {} }`)
      .replace('SkipThrottle, Throttle, ', '')
      .replace('import', "import { Throttle } from '@nestjs/throttler/dist/throttler.decorator';\nimport"),
  });
  expect(rows).toEqual([['Routes.get', 'default 2 per 1m', 'default 2 per 1m']]);
  expect(text('app.module.ts')).not.toContain('@nestjs/throttler');
});

it('a file with CRLF keeps its line ends, and every line that is not changed', async () => {
  const before = app(
    `
    class Own extends ThrottlerGuard {
      protected async getTracker(req: any) {
        return   req.ip;
      }
    }
    @SkipThrottle({ short: true, default: false })
    @Controller() class Routes {
      @Get()    odd( ) {}
      @Throttle({
        default: { limit: 1, ttl: 1000 },
        short: { limit: 2, ttl: 1000 },
      })
      @Get() get() {}
    }`,
    `{ errorMessage: () => {
      return 'slow';
    }, throttlers: [{ ttl: 1, limit: 1 }, { name: 'short', ttl: 1, limit: 1 }] }`,
  );
  const { text } = await migrated({ 'app.module.ts': before.replaceAll('\n', '\r\n') });
  const after = text('app.module.ts');
  expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(after).toContain('\r\n      @Get()    odd( ) {}\r\n');
  expect(after).toContain('\r\n        return   req.ip;\r\n');
});

const HANDLERS = `
  import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
  import { EventPattern, MessagePattern } from '@nestjs/microservices';
  @WebSocketGateway() class Chat { @SubscribeMessage('say') say() {} }
  @SkipThrottle() @WebSocketGateway() class Skipped { @SubscribeMessage('say') say() {} }
  @UseGuards(ThrottlerGuard) @WebSocketGateway() class Guarded { @SubscribeMessage('say') say() {} }
  @Controller() class Parcels {
    @MessagePattern('find') find() {}
    @${strict(2)} @EventPattern('named') named() {}
    @SkipThrottle() @EventPattern('skipped') skipped() {}
  }`;

it('the global guard reaches gateways on some versions of Nest, and messages have only the rules that they name', async () => {
  const { rows, isSame } = await migrated({ 'app.module.ts': app(HANDLERS) });
  const limit = 'default 10 per 1m';
  expect(rows).toEqual([
    ['Chat.say', 'unknown', limit, '! differs'],
    ['Skipped.say', 'none', 'none'],
    ['Guarded.say', 'unknown', limit, '! differs'],
    ['Parcels.find', limit, 'none', '! differs'],
    ['Parcels.named', 'default 2 per 1m', 'default 2 per 1m'],
    ['Parcels.skipped', 'none', 'none'],
  ]);
  expect(isSame).toBe(false);
});

it('a method that is no handler, and a route that throttler counts twice, are not printed as the same', async () => {
  const { rows, isSame } = await migrated({
    'app.module.ts': app(`
      class Reports { @${strict(2)} build() {} }
      @UseGuards(ThrottlerGuard) @Controller() class Routes { @Get() get() {} }
      @Controller() class Others { @Get() get() {} }`),
  });
  expect(rows).toEqual([
    ['Reports.build', 'unknown', 'default 2 per 1m', '! differs'],
    ['Routes.get', 'unknown', 'default 10 per 1m', '! differs'],
    ['Others.get', 'default 10 per 1m', 'default 10 per 1m'],
  ]);
  expect(isSame).toBe(false);
});

it.each([
  ['18000', '5h'],
  ['1000', '1000s'],
  ['60', '1m'],
  ['TTL', '2h'],
])('a ttl of %s seconds in throttler 4 is %s', async (ttl, window) => {
  const { printed, text } = await migrated({
    'app.module.ts': app(
      `const TTL = 7200;\n@Controller() class Routes { @Throttle(5, ${ttl}) @Get() get() {} }`,
    ),
  });
  expect(text('app.module.ts')).toContain(`@RateLimit({ limit: 5, window: '${window}' })`);
  expect(printed).toContain('its ttl is in seconds');
});

it('whether headers are sent is read from constants, and left to the reader otherwise', async () => {
  const ofHeaders = async (setHeaders: string) =>
    migrated({
      'app.module.ts': app(
        'const SEND = false;',
        `{ setHeaders: ${setHeaders}, throttlers: [{ ttl: 1, limit: 1 }] }`,
      ),
    });
  expect((await ofHeaders('SEND')).text('app.module.ts')).toContain('headers: false');
  const unknown = await ofHeaders('Boolean(process.env.HEADERS)');
  expect(unknown.text('app.module.ts')).toContain('headers: MIGRATE_BY_HAND(Boolean(process.env.HEADERS)');
  expect(unknown.isSame).toBe(false);
});

it('the hooks of a subclass of a subclass in another file, and of a class in a function, are migrated', async () => {
  const { text } = await migrated({
    'base.ts': `import { ThrottlerGuard } from '@nestjs/throttler';
      export class BaseGuard extends ThrottlerGuard {}`,
    'user.ts': `import { BaseGuard } from './base';
      export class UserGuard extends BaseGuard { async getTracker(req: any) { return req.user.id; } }`,
    'app.module.ts': app(`
      const mixed = () => class extends ThrottlerGuard { async getTracker(req: any) { return req.id; } generateKey() { return ''; } };`),
  });
  expect(text('user.ts')).toContain('subjectOf(context: ExecutionContext)');
  expect(text('app.module.ts')).toContain('MIGRATE_BY_HAND = MIGRATE_BY_HAND("generateKey: ');
  expect(text('app.module.ts')).toContain('subjectOf(context: ExecutionContext)');
});

it('without a global guard, gateways and messages without a guard have no limits before and after', async () => {
  const { rows } = await migrated({ 'app.module.ts': app(HANDLERS, undefined, '') });
  expect(rows.filter(([, ...limits]) => limits.some((limit) => limit !== 'none'))).toEqual([
    ['Guarded.say', 'default 10 per 1m', 'default 10 per 1m'],
  ]);
});

it.each([
  'handleRequest({ context }: { context: unknown }) { return true; }',
  'getRequestResponse(context: any) { return { req: context.switchToWs().getClient(), res: super.x }; }',
  'async canActivate(context: any) { return super.canActivate(context); }',
])('the hook of a guard of sockets is marked where it is: %s', async (hook) => {
  const { isSame, text } = await migrated({
    'app.module.ts': app(`
      import { WebSocketGateway, SubscribeMessage } from '@nestjs/websockets';
      class WsGuard extends ThrottlerGuard { ${hook} }
      @UseGuards(WsGuard) @WebSocketGateway() class Chat { @SubscribeMessage('say') say() {} }`),
  });
  expect(text('app.module.ts')).toContain('MIGRATE_BY_HAND');
  expect(isSame).toBe(false);
});

it('the duration of a decorator in another file is known by the imports of that file', async () => {
  const { rows, text } = await migrated({
    'limits.ts': `import { Throttle, seconds, weeks } from '@nestjs/throttler';
      export const Rare = Throttle({ default: { limit: 1, ttl: weeks(2) } });
      export const OFTEN = { default: { limit: 9, ttl: seconds(5) } };`,
    'app.module.ts': app(`
      import { OFTEN, Rare } from './limits';
      @Controller() export class Routes {
        @Rare @Get('rare') rare() {}
        @Throttle(OFTEN) @Get('often') often() {}
      }`),
  });
  expect(rows).toEqual([
    ['Routes.rare', 'default 1 per 2w', 'default 1 per 2w'],
    ['Routes.often', 'default 9 per 5s', 'default 9 per 5s'],
  ]);
  expect(text('app.module.ts')).toContain("@RateLimit({ window: '5s', limit: 9 })");
});

it('a method with the name of a helper is no use of the helper', async () => {
  const { printed, isSame, text } = await migrated({
    'app.module.ts': app(`
      import { weeks } from '@nestjs/throttler';
      @Controller() export class Routes {
        @Throttle({ default: { limit: 2, ttl: weeks(1) } }) @Get('weeks') weeks() {}
      }`),
  });
  expect(printed).not.toContain('it is still imported');
  expect(isSame).toBe(true);
  expect(text('app.module.ts')).not.toContain('@nestjs/throttler');
});

it('a function for the ttl becomes one whose parameter has a type, which strict requires', async () => {
  const { text } = await migrated({
    'app.module.ts': app(`
      @Controller() export class Routes {
        @Throttle({ default: { limit: 2, ttl: async () => 4000 } }) @Get() get() {}
      }`),
  });
  expect(text('app.module.ts')).toContain('window: async (context: ExecutionContext) => `');
  expect(text('app.module.ts')).toMatch(
    /import \{[^}]*\btype ExecutionContext\b[^}]*\} from '@nestjs\/common'/,
  );
});
