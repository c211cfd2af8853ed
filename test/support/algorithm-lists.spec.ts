import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { algorithms } from '../../lib/algorithms/registry.js';
import { pathOf } from '../readme/code-blocks.js';

/** Files with lists of algorithms, and why a new algorithm needs no change there. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'lib/algorithms/known.ts':
    'the names of the registry, each with the import that loads it; a spec compares them',
  'test/packaging/every-algorithm.cjs': 'a program whose bundle has to contain each',
  'lib/throttler/throttler-rules.ts': 'the algorithms that can replace the fixed window of throttler',
  'test/throttler/storage.spec.ts': 'the same, each compared with throttler',
  'scripts/draw-choosing.mjs': 'options and notes of some; the others are drawn by their first example',
  'test/contract/debt.contract.ts': 'figures calculated by hand; the others state their own',
  'test/contract/timelines/paces.ts': 'figures calculated by hand; a contract finds an algorithm without any',
  'test/flood/simulated-log.spec.ts': 'rules whose denials of one log a formula gives',
  'test/concurrency/first-come.spec.ts': 'options with which each allows one request at once',
  'test/live/consumed-permits.spec.ts': 'the figures of a table in docs/live-rules.md',
  'test/parity/sayable-rule.ts': 'options of some; the others have none',
};

/** A list names at least so many different algorithms. */
const LEAST = 3;

const NAMES: ReadonlySet<string> = new Set(Object.keys(algorithms));

it('no file lists algorithms besides the registry, so that a new algorithm is its folder and one line', () => {
  const files = execFileSync('git', ['ls-files', 'lib', 'test', 'bench', 'scripts', 'site', 'sample-app'], {
    cwd: pathOf('.'),
    encoding: 'utf8',
  });
  const sources = files.split('\n').filter((file) => /[.][cm]?[jt]s$/.test(file));
  const isOwn = (file: string) => /^lib\/algorithms\/(registry[.]ts|[^/]+\/)/.test(file);
  const found = sources.filter((file) => !isOwn(file) && hasList(file));
  expect(found.toSorted()).toEqual(Object.keys(EXCEPTIONS).toSorted());
});

function hasList(file: string): boolean {
  const text = readFileSync(pathOf(file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const isList = (node: ts.Node): boolean =>
    new Set(namesIn(node)).size >= LEAST || ts.forEachChild(node, isList) === true;
  return isList(source);
}

/** The algorithms that an array, an object, a union or a `switch` lists directly. */
function namesIn(node: ts.Node): string[] {
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(nameOf);
  if (ts.isUnionTypeNode(node)) return node.types.flatMap(nameOf);
  if (ts.isTupleTypeNode(node)) return node.elements.flatMap(nameOf);
  if (ts.isCaseBlock(node))
    return node.clauses.flatMap((clause) => ('expression' in clause ? nameOf(clause.expression) : []));
  if (ts.isObjectLiteralExpression(node) || ts.isInterfaceDeclaration(node) || ts.isTypeLiteralNode(node)) {
    const members: readonly (ts.ObjectLiteralElementLike | ts.TypeElement)[] =
      'properties' in node ? node.properties : node.members;
    return members.flatMap(({ name }) => (name ? nameOf(name) : []));
  }
  return [];
}

/** The algorithm that a literal or the name of a property is; for a list of rows, the first element of a row. */
function nameOf(node: ts.Node): string[] {
  if (ts.isLiteralTypeNode(node)) return nameOf(node.literal);
  if (ts.isArrayLiteralExpression(node)) return node.elements.slice(0, 1).flatMap(nameOf);
  const text = ts.isStringLiteralLike(node) || ts.isIdentifier(node) ? node.text : '';
  return NAMES.has(text) ? [text] : [];
}
