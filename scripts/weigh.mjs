// Counts the lines of code of lib: TypeScript without specs, generated files, comments and blank lines; Lua and CSS apart.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const lib = join(dirname(fileURLToPath(import.meta.url)), '..', 'lib');

/** Counts the lines that a token of TypeScript is on. */
function linesOfTypeScript(text) {
  const file = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true);
  const lines = new Set();
  const visit = (node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    const lineAt = (position) => file.getLineAndCharacterOfPosition(position).line;
    for (
      let line = lineAt(node.getStart(file));
      node.getWidth(file) > 0 && line <= lineAt(node.end);
      line += 1
    )
      lines.add(line);
  };
  visit(file);
  return lines.size;
}

const linesWithout = (comments) => (text) =>
  text
    .replaceAll(comments, '')
    .split('\n')
    .filter((line) => line.trim()).length;

const LANGUAGES = [
  { name: 'TypeScript', is: /(?<!\.spec|\.lua|\.embedded)\.ts$/, count: linesOfTypeScript },
  { name: 'Lua', is: /\.lua$/, count: linesWithout(/^\s*--.*$/gm) },
  { name: 'CSS', is: /\.css$/, count: linesWithout(/\/\*[\s\S]*?\*\//g) },
];

const paths = readdirSync(lib, { recursive: true });
for (const { name, is, count } of LANGUAGES) {
  const files = paths.filter((path) => is.test(basename(path)));
  const lines = files.map((path) => count(readFileSync(join(lib, path), 'utf8')));
  const small = lines.filter((each) => each <= 25).length;
  const total = lines.reduce((sum, each) => sum + each, 0);
  console.log(`${name}: ${total} lines of code in ${files.length} files (${small} of 25 lines or fewer)`);
}
