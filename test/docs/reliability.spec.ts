import { existsSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';
import { EVERY_FAULT, FAULTS_OF_A_SERVER } from '../faults/every-fault.js';
import { tableOf } from '../readme/tables.js';

const PAGE = 'docs/reliability.md';

const guarantees = tableOf(PAGE, 'guarantee').map(({ guarantee = '', test = '' }) => ({
  guarantee: /^\*\*(.*?)\*\*/.exec(guarantee)?.[1] ?? guarantee,
  tests: Array.from(test.matchAll(/(\S+\.spec\.ts): “(.*?)”/g), ([, file = '', title = '']) => ({
    file,
    title,
  })),
}));

/** The titles of a spec as they are written there, with their placeholders. */
function titlesIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    const [title] = ts.isCallExpression(node) ? node.arguments : [];
    if (
      title &&
      ts.isStringLiteralLike(title) &&
      /^it\b/.test((node as ts.CallExpression).expression.getText())
    )
      titles.push(title.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** A fault without its figures: those of a full run are larger. */
const wordsOf = (name: string) => name.replaceAll(/[\d.]+ ?/g, '');

describe(PAGE, () => {
  it.each(guarantees)('a guarantee names tests that exist: $guarantee', ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const { file, title } of tests) {
      expect([file, existsSync(file)]).toEqual([file, true]);
      expect(titlesIn(file)).toContain(title);
    }
  });

  it.each(EVERY_FAULT)('the bound of a fault is stated: $name', ({ name }) => {
    const stated = tableOf(PAGE, 'faults').flatMap(({ faults = '' }) => faults.split('; '));
    expect(stated.some((each) => wordsOf(name).startsWith(wordsOf(each)))).toBe(true);
  });

  it('the behaviour in every fault of one server was measured', () => {
    const measured = new Set(tableOf(PAGE, 'fault').map(({ fault = '' }) => wordsOf(fault)));
    expect(FAULTS_OF_A_SERVER.map(({ name }) => wordsOf(name)).filter((name) => !measured.has(name))).toEqual(
      [],
    );
  });
});
