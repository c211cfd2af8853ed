import vm from 'node:vm';
import type { AnyRule } from '../../lib/rules/rule.js';
import { textOf } from '../readme/code-blocks.js';

/** A rule on a page, and the table below it with the decisions of the rule at each instant. */
export interface Example {
  /** The file and the line of the rule, such as `docs/algorithms/gcra.md:42`. */
  readonly place: string;
  /** The text of the block. */
  readonly code: string;
  readonly rule: AnyRule;
  readonly rows: readonly Row[];
}

/** Cells by the title of their column. */
export type Row = Readonly<Record<string, string>>;

/** Returns the examples of a page: each block of code that is followed by a table of instants. */
export function examplesOf(page: string): Example[] {
  const text = textOf(page);
  const blocks = text.matchAll(/^```ts\n(?<code>.*?)^```\n(?<between>.*?)(?=^```|^#|$(?![\s\S]))/gms);
  return [...blocks].flatMap(({ index, groups }) => {
    const { code = '', between = '' } = groups ?? {};
    const rows = rowsOf(between);
    if (rows.length === 0) return [];
    const place = `${page}:${text.slice(0, index).split('\n').length}`;
    return [{ place, code, rule: ruleOf(code), rows }];
  });
}

/** Returns the rows of the first table of instants in a text. */
function rowsOf(text: string): Row[] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => /^\| at +\|/.test(line));
  if (start < 0) return [];
  const titles = cellsOf(lines[start]!);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end < 0 ? undefined : end).map((line) => {
    const cells = cellsOf(line);
    return Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? '']));
  });
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Evaluates the value in `const rule: … = { … };`. */
function ruleOf(code: string): AnyRule {
  const [, literal] = /^const rule: \w+ = (\{.*\});$/s.exec(code.trim()) ?? [];
  if (literal === undefined) throw new Error(`not a rule: ${code}`);
  return vm.runInNewContext(`(${literal})`) as AnyRule;
}
