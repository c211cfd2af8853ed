// Reads the exports of the package, their members and their doc comments with the TypeScript compiler.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
/** The files of the subpaths, that of the root first: `./redis` is lib/redis.ts. */
const entries = Object.keys(exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => `lib/${subpath.slice(2) || 'index'}.ts`);
const program = ts.createProgram(
  entries.map((file) => `${root}${file}`),
  options,
);
const checker = program.getTypeChecker();

/** The symbols that a file exports, by name. */
function exportsOf(file) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(`${root}${file}`));
  const symbols = checker.getExportsOfModule(module).map((symbol) => {
    const isAlias = symbol.flags & ts.SymbolFlags.Alias;
    return [symbol.name, isAlias ? checker.getAliasedSymbol(symbol) : symbol];
  });
  return new Map(symbols);
}

/** The symbols that the package exports, by name. */
export const exported = new Map(entries.flatMap((file) => [...exportsOf(file)]));

/** The exported names of the subpaths, in the order of their files, grouped by the `// Title` comments. */
export function sections() {
  const found = [];
  const known = new Set(); // `/limiter` exports what the root does as well.
  const statements = entries.flatMap((file) => [...program.getSourceFile(`${root}${file}`).statements]);
  for (const statement of statements.filter(ts.isExportDeclaration)) {
    const [, title] = /^\/\/ (.*)$/m.exec(statement.getFullText()) ?? [];
    if (title) found.push({ title, names: [] });
    const names = statement.exportClause.elements.map(({ name }) => name.text);
    found.at(-1).names.push(...names.filter((name) => !known.has(name)));
    for (const name of names) known.add(name);
  }
  return found;
}

/** The names of the algorithms, in the order of the registry. */
const registered = checker
  .getTypeOfSymbol(exportsOf('lib/algorithms/registry.ts').get('algorithms'))
  .getProperties()
  .map(({ name }) => name);

/** The interface with the options of each algorithm that has options. */
export function algorithmOptions() {
  const files = program.getSourceFiles().map(({ fileName }) => fileName.slice(root.length));
  const optionsOf = (algorithm) => {
    const pascal = algorithm.replace(/(^|-)(\w)/g, (_match, _dash, letter) => letter.toUpperCase());
    const own = files.filter((file) => file.startsWith(`lib/algorithms/${algorithm}/`));
    return own.map((file) => exportsOf(file).get(`${pascal}Options`)).find(Boolean);
  };
  return registered
    .map((algorithm) => ({ algorithm, symbol: optionsOf(algorithm) }))
    .filter(({ symbol }) => symbol && membersOf(symbol).length > 0);
}

/** The algorithms whose rules a type accepts. */
export function algorithmsOf(symbol) {
  const algorithm = checker.getDeclaredTypeOfSymbol(symbol).getProperty('algorithm');
  if (!algorithm) return [];
  const type = checker.getTypeOfSymbol(algorithm);
  const values = (type.isUnion() ? type.types : [type]).map(({ value }) => value);
  return registered.filter((name) => values.includes(name));
}

/** The public members of a class or an interface, without those inherited from an exported class. */
export function membersOf(symbol) {
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const bases = ts.isClassDeclaration(symbol.declarations[0]) ? checker.getBaseTypes(type) : [];
  const inherited = new Set(
    bases
      .filter((base) => exported.has(base.symbol?.name))
      .flatMap((base) => base.getProperties().map(({ declarations }) => declarations[0])),
  );
  const members = [...(symbol.exports?.values() ?? []), ...type.getProperties()];
  return members.filter((member) => isPublic(member) && !inherited.has(member.declarations[0]));
}

function isPublic(member) {
  const [declaration] = member.declarations ?? [];
  if (!isOurs(declaration) || isInternal(member)) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (ts.getCombinedModifierFlags(declaration) & hidden) === 0;
}

function isInternal(symbol) {
  return tagsOf(symbol).some(({ name }) => name === 'internal');
}

function isOurs(declaration) {
  return declaration?.getSourceFile().fileName.startsWith(`${root}lib/`) === true;
}

/** The constructor of a class, if it has a doc comment. */
export function constructorOf(symbol) {
  const declared = symbol.members?.get('__constructor');
  if (!declared || !hasComment(declared)) return undefined;
  const tags = ts.getJSDocTags(declared.declarations[0]); // Later overloads may be internal.
  return tags.some(({ tagName }) => tagName.text === 'internal') ? undefined : declared;
}

/** Whether a symbol has its own doc comment, not only an inherited one. */
export function hasComment({ declarations: [declaration] }) {
  return ts.getJSDocCommentsAndTags(declaration).length > 0;
}

export function textOf(symbol) {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
}

/** The tags of a doc comment as `{ name, text }`. */
export function tagsOf(symbol) {
  const tags = symbol.getJsDocTags(checker);
  return tags.map(({ name, text }) => ({ name, text: ts.displayPartsToString(text).trim() }));
}

/** The type of a field or a parameter, as declared or as inferred by the compiler. */
export function typeTextOf(node) {
  return node.type ? node.type.getText() : checker.typeToString(checker.getTypeAtLocation(node));
}

/** The symbols in types that are declared in lib but not exported by the package, by name. */
export function hiddenIn(...nodes) {
  const hidden = new Map();
  const visit = (node) => {
    if (ts.isTypeReferenceNode(node) || ts.isTypeQueryNode(node)) {
      const symbol = checker.getSymbolAtLocation(node.typeName ?? node.exprName);
      const isAlias = symbol.flags & ts.SymbolFlags.Alias;
      const found = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      const [declaration] = found.declarations;
      const isParameter = ts.isTypeParameterDeclaration(declaration);
      if (isOurs(declaration) && !isParameter && !exported.has(found.name)) hidden.set(found.name, found);
    }
    ts.forEachChild(node, visit);
  };
  for (const node of nodes) if (node) visit(node);
  return hidden;
}

/** The literals of a type such as `(typeof NAMES)[number]` or `keyof typeof names`; empty for any other type. */
export function literalsOf({ declarations: [{ type }] }) {
  const query = ts.isTypeOperatorNode(type)
    ? type.type
    : ts.isIndexedAccessTypeNode(type) && type.objectType.type;
  if (!query || !ts.isTypeQueryNode(query)) return [];
  const of = checker.getTypeAtLocation(query);
  if (!checker.isTupleType(of)) return of.getProperties().map(({ name }) => name);
  return checker.getTypeArguments(of).map(({ value }) => value);
}
