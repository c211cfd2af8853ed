import { basename } from 'node:path';
import ts from 'typescript';
import { pathOf, type CodeBlock } from './code-blocks.js';

/** Names that a snippet uses without an import: an editor adds these imports. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  '@nestjs/common': [
    'CanActivate',
    'Controller',
    'ExecutionContext',
    'Get',
    'HttpException',
    'Inject',
    'Injectable',
    'Module',
    'Post',
    'UseGuards',
  ],
  '@nestjs/config': ['ConfigModule', 'ConfigService', 'registerAs'],
  '@nestjs/core': ['APP_GUARD', 'NestFactory'],
  '@nestjs/graphql': ['Query', 'Resolver'],
  '@nestjs/microservices': ['MessagePattern'],
  '@nestjs/platform-express': ['NestExpressApplication'],
  '@nestjs/platform-fastify': ['FastifyAdapter'],
  '@nestjs/testing': ['Test'],
  '@nestjs/websockets': ['SubscribeMessage', 'WebSocketGateway'],
  ioredis: ['Cluster', 'Redis'],
  'nestjs-redis-rate-limit': [
    'byArguments',
    'Decision',
    'limitBeforeRouting',
    'overridesFromEnv',
    'RATE_LIMIT_REDIS',
    'RateLimit',
    'RateLimitEvents',
    'RateLimitExceededException',
    'RateLimitGuard',
    'RateLimitHealth',
    'RateLimitId',
    'RateLimitModule',
    'RateLimitService',
    'rateLimitEnvSchema',
    'rateLimitSchema',
    'recordMetrics',
    'Settle',
    'SkipRateLimit',
  ],
  './app.module.js': ['AppModule'],
};

/** Names that a snippet takes from the one above it. */
const ABOVE = {
  AuthGuard: 'declare const AuthGuard: new () => import("@nestjs/common").CanActivate;',
  LoginController: 'declare const LoginController: new () => object;',
};

/** A snippet as a file of the sample application. */
export function fileOf({ place }: CodeBlock): string {
  return pathOf(`sample-app/snippet-${basename(place).replace(/\W+/g, '-')}.ts`);
}

/** Returns the snippet with the missing imports in front of its first line, so that line numbers stay. */
export function completed({ text }: CodeBlock): string {
  const isUsed = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
  const isOwn = (name: string): boolean =>
    new RegExp(`\\b(class|const|function) ${name}\\b|^import [^;]*\\b${name}\\b`, 'm').test(text);
  const imports = Object.entries(IMPORTS).flatMap(([module, names]) => {
    const missing = names.filter((name) => isUsed(name) && !isOwn(name));
    return missing.length > 0 ? [`import { ${missing.join(', ')} } from '${module}';`] : [];
  });
  const declared = Object.entries(ABOVE).flatMap(([name, text]) =>
    isUsed(name) && !isOwn(name) ? [text] : [],
  );
  return [...imports, ...declared, 'export {};', text].join(' ');
}

/** Returns the compiler errors of snippets that import the package as `nestjs-redis-rate-limit`. */
export function problemsOf(blocks: readonly CodeBlock[]): string[] {
  const files = new Map(blocks.map((block) => [fileOf(block), block]));
  const program = ts.createProgram([...files.keys()], compilerOptions(), hostOf(files));
  return [...files].flatMap(([file, { place }]) => {
    const source = program.getSourceFile(file)!;
    const problems = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return problems.map(({ start = 0, messageText }) => {
      const { line } = source.getLineAndCharacterOfPosition(start);
      return `${place}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  });
}

/** Returns the snippet as JavaScript. */
export function transpiled(block: CodeBlock): string {
  const options = { ...compilerOptions(), module: ts.ModuleKind.ESNext, sourceMap: false };
  return ts.transpileModule(completed(block), { compilerOptions: options, fileName: fileOf(block) })
    .outputText;
}

/** The compiler options of the repository, with the package resolved to lib. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(pathOf('tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, pathOf('.'));
  return {
    ...options,
    noUnusedLocals: false,
    paths: {
      'nestjs-redis-rate-limit': [pathOf('lib/index.ts')],
      'nestjs-redis-rate-limit/*': [pathOf('lib/*.ts')],
    },
  };
}

function hostOf(files: ReadonlyMap<string, CodeBlock>): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions());
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => files.has(file) || fileExists.call(host, file);
  host.readFile = (file) => textIn(files, file) ?? readFile.call(host, file);
  host.getSourceFile = (file, options, ...rest) => {
    const text = textIn(files, file);
    return text === undefined
      ? getSourceFile.call(host, file, options, ...rest)
      : ts.createSourceFile(file, text, options, true);
  };
  return host;
}

function textIn(files: ReadonlyMap<string, CodeBlock>, file: string): string | undefined {
  const block = files.get(file);
  return block && completed(block);
}
