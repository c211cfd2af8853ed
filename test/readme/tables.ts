import ts from 'typescript';
import { textOf } from './code-blocks.js';

/** A row of a Markdown table: its cells by the title of the column, without backquotes. */
export type Row = Readonly<Record<string, string>>;

/** Returns the table of a file whose first column has this title. */
export function tableOf(file: string, title: string): Row[] {
  const lines = textOf(file).split('\n');
  const start = lines.findIndex((line) => cellsOf(line)[0] === title);
  if (start < 0) throw new Error(`${file} has no table that begins with ${title}`);
  const titles = cellsOf(lines[start]!);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end).map((line) => {
    const cells = cellsOf(line);
    return Object.fromEntries(titles.map((name, index) => [name, cells[index]!]));
  });
}

function cellsOf(line: string): string[] {
  return line
    .replaceAll('`', '')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Returns the members of a type in a source file, without nested ones, each with its `@default`, or `''`. */
export function membersOf(file: string, type: string): Map<string, string> {
  const source = ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true);
  const members = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (ts.isTypeElement(node) && node.name) members.set(node.name.getText(), defaultOf(node));
    else ts.forEachChild(node, visit);
  };
  const isNamed = (node: ts.Node): boolean =>
    (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) && node.name.text === type;
  source.statements.filter(isNamed).forEach(visit);
  return members;
}

function defaultOf(member: ts.TypeElement): string {
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'default');
  return (ts.getTextOfJSDocComment(tag?.comment) ?? '').replaceAll('`', '');
}
