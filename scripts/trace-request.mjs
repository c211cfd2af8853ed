// Prints the files of lib that a warm request enters, in order, and how often it returns to a file it has left.
//   node scripts/trace-request.mjs [--redis=redis://127.0.0.1:6379] [--json]
// A copy of lib is compiled file by file so that each function reports when it is entered. Run `npm run embed` before.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WARM_UP = 20;
const TRACES = 10;
const FIRST = join('lib', 'nest', 'rate-limit.guard.ts');
/** The time after which the timers of a request have ended. */
const PAUSE_MS = 100;
const flag = (name) => process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split('=')[1];

/** A TypeScript transformer that reports each function of a file when it is entered. */
const reporting = (file) => (context) => {
  const { factory } = context;
  const entered = () =>
    factory.createCallChain(
      factory.createPropertyAccessExpression(factory.createIdentifier('globalThis'), 'entered'),
      factory.createToken(ts.SyntaxKind.QuestionDotToken),
      undefined,
      [factory.createStringLiteral(file)],
    );
  const visitBody = (body) => {
    if (!ts.isBlock(body)) {
      return factory.createParenthesizedExpression(factory.createComma(entered(), visit(body)));
    }
    const { statements } = ts.visitEachChild(body, visit, context);
    return factory.updateBlock(body, [factory.createExpressionStatement(entered()), ...statements]);
  };
  const visit = (node) =>
    ts.visitEachChild(
      node,
      (child) => (ts.isFunctionLike(node) && child === node.body ? visitBody(child) : visit(child)),
      context,
    );
  return visit;
};

/** Compiles lib into a folder. */
function compileTo(folder) {
  const { compilerOptions } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const options = { ...compilerOptions, module: 'esnext', target: 'es2022', sourceMap: false };
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const file of readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.spec.ts')) continue;
    const path = join('lib', file);
    const { outputText } = ts.transpileModule(readFileSync(join(ROOT, path), 'utf8'), {
      compilerOptions: { ...options, moduleResolution: undefined, declaration: false, declarationMap: false },
      transformers: { before: [reporting(path)] },
    });
    const to = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, outputText);
  }
}

/** Starts an application with one limited route. */
async function start(folder) {
  await import('reflect-metadata');
  const { Controller, Get, Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { RateLimitModule } = await import(pathToFileURL(join(folder, 'lib/index.js')));
  class Hello {
    get() {
      return 'hello';
    }
  }
  Get()(Hello.prototype, 'get', Object.getOwnPropertyDescriptor(Hello.prototype, 'get'));
  Controller()(Hello);
  class AppModule {}
  const rules = { default: { window: '1m', limit: 100, algorithm: 'gcra' } };
  const limits = RateLimitModule.forRoot({ rules, redis: flag('redis'), prefix: `trace${process.pid}:` });
  Module({ imports: [limits], controllers: [Hello] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  return app;
}

/**
 * Returns the files that a warm request enters, starting with the guard; a file is repeated each time the request
 * returns to it.
 */
async function trace(url) {
  const moves = [];
  globalThis.entered = (file) => {
    if (file !== moves.at(-1) && (moves.length > 0 || file === FIRST)) moves.push(file);
  };
  await (await fetch(url)).text();
  globalThis.entered = undefined;
  return moves;
}

/** Returns the shortest of several traces, once two requests have had it: on a busy machine a timer runs during most. */
async function steadyTrace(app) {
  const url = await app.getUrl();
  for (let nth = 0; nth < WARM_UP; nth += 1) await (await fetch(url)).text();
  const traces = [];
  for (;;) {
    await setTimeout(PAUSE_MS);
    traces.push(await trace(url));
    const [shortest, next] = traces.toSorted((one, other) => one.length - other.length);
    if (traces.length >= TRACES && shortest.join() === next.join()) return shortest;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'trace-'));
try {
  compileTo(folder);
  const app = await start(folder);
  const moves = await steadyTrace(app);
  await app.close();
  const files = [...new Set(moves)];
  const returns = moves.length - files.length;
  if (process.argv.includes('--json')) console.log(JSON.stringify({ files, returns }));
  else console.log(`${moves.join('\n')}\n${files.length} files, ${returns} returns`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
