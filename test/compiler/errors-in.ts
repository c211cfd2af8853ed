import ts from 'typescript';
import { pathOf } from '../readme/code-blocks.js';

const FILE = pathOf('test/compiler/checked-code.ts');

/** What the code can use. */
const PREAMBLE = [
  `import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';`,
  `import type { RateLimiter } from '../../lib/limiter.js';`,
  `declare const limiter: RateLimiter;`,
  `declare const configured: { window: string; limit: number };`,
  `declare const typed: RouteRule;`,
  `declare const word: string;`,
];

/**
 * Returns the texts of the compiler about each of some expressions, by the expression.
 *
 * @param preamble the lines before them
 * @param options replace options of the repository
 */
export function errorsIn(
  codes: readonly string[],
  preamble: readonly string[] = PREAMBLE,
  options: ts.CompilerOptions = {},
): ReadonlyMap<string, readonly string[]> {
  const lines = [...preamble, ...codes.map((code) => `void ${code};`)];
  const program = ts.createProgram([FILE], { ...compilerOptions(), ...options }, hostOf(lines.join('\n')));
  const source = program.getSourceFile(FILE)!;
  const errors = new Map<string, string[]>(codes.map((code) => [code, []]));
  for (const { start = 0, messageText } of program.getSemanticDiagnostics(source)) {
    const { line } = source.getLineAndCharacterOfPosition(start);
    const code = codes[line - preamble.length];
    if (code === undefined) throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
    errors.get(code)!.push(ts.flattenDiagnosticMessageText(messageText, '\n'));
  }
  return errors;
}

/** The options of the repository. */
export function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(pathOf('tsconfig.json'), ts.sys.readFile);
  return ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, pathOf('.')).options;
}

/** The files on disk, and the code as one more. */
function hostOf(code: string): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions());
  const { fileExists, readFile, getSourceFile } = host;
  return {
    ...host,
    fileExists: (file) => file === FILE || fileExists(file),
    readFile: (file) => (file === FILE ? code : readFile(file)),
    getSourceFile: (file, target, ...others) =>
      file === FILE ? ts.createSourceFile(file, code, target) : getSourceFile(file, target, ...others),
  };
}
