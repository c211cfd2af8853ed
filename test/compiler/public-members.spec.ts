import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { pathOf } from '../readme/code-blocks.js';
import { compilerOptions, errorsIn } from './errors-in.js';

const OPERATIONS = [
  'consume',
  'peek',
  'reserve',
  'acquire',
  'hold',
  'block',
  'unblock',
  'reset',
  'events',
  'ready',
  'refund',
  'instanceCount',
  'instanceCountError',
  'close',
];

/** The members of every exported class, in the built types. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  FileRuleSource: ['load', 'watch'],
  LiveRules: [
    'set',
    'unset',
    'setException',
    'unsetException',
    'get',
    'list',
    'history',
    'loss',
    'restore',
    'accept',
  ],
  MemoryRuleSource: ['load', 'watch', 'write', 'history'],
  MemoryStore: [
    'source',
    'shared',
    'clock',
    'stopwatch',
    'size',
    'decide',
    'adjust',
    'block',
    'reset',
    'followGrants',
    'close',
  ],
  Permit: ['decision', 'signal', 'allowed', 'release', '[Symbol.asyncDispose]'],
  RateLimitConfigError: ['name', 'problems'],
  RateLimitConflictError: ['rule', 'version', 'name'],
  RateLimitEvents: ['on', 'openCircuits', 'faults', 'isFlapping'],
  RateLimitExceededException: ['extensions', 'decision', 'contentType'],
  RateLimitFilter: ['catch'],
  RateLimitGuard: ['canActivate', 'protected subjectOf', 'protected shouldSkip', 'protected deny'],
  RateLimitHealth: ['isHealthy'],
  RateLimitModule: [],
  RateLimitService: ['rules', 'usage', 'explain', ...OPERATIONS],
  RateLimitStoreError: ['operation', 'name'],
  RateLimitTesting: ['static install', 'advance', 'clear', 'off', 'on', 'consumed'],
  RateLimitThrottlerStorage: ['increment'],
  RateLimitUnavailableException: ['extensions', 'decision', 'contentType'],
  RateLimiter: ['events', ...OPERATIONS.filter((name) => name !== 'events')],
  RedisRuleSource: ['load', 'watch', 'write', 'restore', 'accept', 'history', 'close'],
  RedisStore: [
    'static open',
    'source',
    'shared',
    'clock',
    'stopwatch',
    'timeout',
    'awake',
    'decide',
    'adjust',
    'block',
    'reset',
    'heartbeat',
    'watchHeartbeats',
    'watchClock',
    'follow',
    'unfollow',
    'followGrants',
    'isFollowed',
    'watch',
    'ready',
    'close',
  ],
  Reservation: [
    'decision',
    'allowed',
    'delayMs',
    'signal',
    'used',
    'settle',
    'cancel',
    '[Symbol.asyncDispose]',
  ],
  StoreFault: ['kind', 'code', 'name', 'server'],
  SubjectDigest: ['head', 'digest', 'toString'],
  Warnings: ['active'],
};

/** The members that exceptions and errors inherit. */
const INHERITED = new Set(['Error', 'HttpException', 'IntrinsicException']);

const subpaths = ['index', 'limiter', 'live', 'redis', 'testing', 'throttler'];
const files = subpaths.map((subpath) => pathOf(`dist/cjs/${subpath}.d.ts`));
const program = ts.createProgram(files, { ...compilerOptions(), skipLibCheck: false });
const checker = program.getTypeChecker();

it('the types of the package show operations of exported classes, and no internals', () => {
  expect(sorted(membersByClass())).toEqual(sorted(MEMBERS));
});

it('the types of the package are valid', () => {
  const errors = files.flatMap((file) => program.getSemanticDiagnostics(program.getSourceFile(file)));
  expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
});

const USES = [
  `app.get(RateLimitService).consume('login', 42)`,
  `app.get(RateLimitHealth).isHealthy('limits').then(({ limits }) => limits.status)`,
  `app.useGlobalGuards(app.get(TenantGuard))`,
  `UseGuards(RateLimitGuard)`,
  `app.useGlobalFilters(app.get(RateLimitFilter))`,
  `Module({ imports: [RateLimitModule], providers: [{ provide: APP_GUARD, useClass: TenantGuard }] })`,
];

it.each(USES)('%s compiles with the types of the package', (code) => {
  const names = 'RateLimitFilter, RateLimitGuard, RateLimitHealth, RateLimitModule, RateLimitService';
  const preamble = [
    `import { Module, UseGuards, type INestApplication } from '@nestjs/common';`,
    `import { APP_GUARD } from '@nestjs/core';`,
    `import { ${names} } from '../../dist/cjs/index.js';`,
    `declare const app: INestApplication;`,
    `class TenantGuard extends RateLimitGuard { protected override shouldSkip() { return false; } }`,
    `void [Module, UseGuards, APP_GUARD, ${names}, TenantGuard];`,
  ];
  expect(errorsIn([code], preamble).get(code)).toEqual([]);
});

it('a subclass of the guard with a constructor does not compile, since it could not inject what the guard needs', () => {
  const preamble = [`import { RateLimitGuard } from '../../dist/cjs/index.js';`];
  const code = `class extends RateLimitGuard { constructor() { super(); } }`;
  expect(errorsIn([code], preamble).get(code)).toEqual(['Expected 1 arguments, but got 0.']);
});

function sorted(members: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(members).map(([name, names]) => [name, names.toSorted()]));
}

function membersByClass(): Record<string, string[]> {
  const exported = files.flatMap((file) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!),
  );
  const symbols = exported.map((symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  );
  const classes = symbols.filter(({ flags }) => flags & ts.SymbolFlags.Class);
  return Object.fromEntries(classes.map((symbol) => [symbol.name, membersOf(symbol)]));
}

function membersOf(symbol: ts.Symbol): string[] {
  const { exports, name } = symbol;
  const statics = [...(exports?.values() ?? [])].filter((member) => member.name !== 'prototype');
  const own = checker.getDeclaredTypeOfSymbol(symbol).getProperties();
  return [
    ...statics.map((member) => `static ${textOf(member)}`),
    ...own.filter((member) => !isInherited(member)).map(textOf),
  ].filter((member) => member !== '#private' && member !== name);
}

function isInherited({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(({ parent }) => INHERITED.has((parent as ts.ClassDeclaration).name?.text ?? ''));
}

function textOf({ name, declarations = [] }: ts.Symbol): string {
  const flags = declarations[0] ? ts.getCombinedModifierFlags(declarations[0]) : 0;
  const isProtected = (flags & ts.ModifierFlags.Protected) !== 0;
  const isPrivate = (flags & ts.ModifierFlags.Private) !== 0;
  const text = name.replace(/^__@(\w+)@\d+$/, '[Symbol.$1]').replace(/^__#\d+@/, '');
  return `${isPrivate ? 'private ' : ''}${isProtected ? 'protected ' : ''}${text}`;
}
