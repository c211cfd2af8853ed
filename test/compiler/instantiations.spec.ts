import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { pathOf } from '../readme/code-blocks.js';
import { compilerOptions } from './errors-in.js';

const FILE = pathOf('test/compiler/many-methods.ts');

/** The forms of the decorator. */
const FORMS = [
  (nth: number) => `@RateLimit({ window: '1m', limit: ${nth}, by: 'user' })`,
  (nth: number) => `@RateLimit('1m', ${nth}, 'gcra')`,
  (nth: number) =>
    `@RateLimit({ name: 'r${nth}', window: '1s', limit: ${nth}, algorithm: 'token-bucket', burst: 10 })`,
  (nth: number) => `@RateLimit('login', { limit: ${nth} })`,
];

const METHODS = Array.from({ length: 200 }, (_, nth) => `  ${FORMS[nth % 4]!(nth + 1)}\n  m${nth}() {}`);
const CODE = `import { RateLimit } from '../../dist/esm/index.js';\nexport class Many {\n${METHODS.join('\n')}\n}\n`;

it('200 decorated methods cost a compiler that checks them at most 13,500 instantiations of types', () => {
  const options = { ...compilerOptions(), skipLibCheck: true };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  const program = ts.createProgram([FILE], options, {
    ...host,
    fileExists: (file) => file === FILE || fileExists(file),
    readFile: (file) => (file === FILE ? CODE : readFile(file)),
    getSourceFile: (file, target, ...others) =>
      file === FILE ? ts.createSourceFile(file, CODE, target) : getSourceFile(file, target, ...others),
  });
  expect(
    program.getSemanticDiagnostics(program.getSourceFile(FILE)).map(({ messageText }) => messageText),
  ).toEqual([]);
  expect(program.getInstantiationCount()).toBeGreaterThan(0);
  expect(program.getInstantiationCount()).toBeLessThanOrEqual(13_500);
});
