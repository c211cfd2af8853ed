import type * as TsMorph from 'ts-morph';
import { definitionOf, objectAt, isTest } from './constants.js';
import { classesIn, isFrom, PACKAGE, THROTTLER, type Source } from './source.js';
import { valuesOf } from './rules.js';
import { Node, SyntaxKind, type Values } from './ts-morph.js';

export const UNKNOWN = 'unknown';

/** Exports of a file of throttler: keys of its metadata. */
const KEYS = ['LIMIT', 'TTL', 'SKIP', 'TRACKER', 'BLOCK_DURATION', 'KEY_GENERATOR'].map(
  (key) => `THROTTLER_${key}`,
);

export type Class = TsMorph.ClassDeclaration | TsMorph.ClassExpression;

type Place = Class | TsMorph.MethodDeclaration;

/** A call in a decorator; not `isSure` beside a condition, which may leave it out. */
export type Decoration = ReturnType<typeof decorationsAt>[number];

/** The calls of the decorators of a place, and those in what they are composed of, in the order in which they run. */
export function decorationsAt(source: Source, place: Place) {
  const decorators = place.getDecorators().toReversed();
  return decorators.flatMap((decorator) => {
    const nodes = nodesIn(source, decorator.getExpression());
    const isSure = !nodes.some(isBranch);
    /** Whether it sets the metadata of throttler without a decorator of throttler. */
    const setsMetadata = nodes.some(isMetadataKey);
    const calls = nodes.filter((node) => Node.isCallExpression(node));
    return calls.map((call) => ({ call, isSure, setsMetadata }));
  });
}

/** A node, what is in it, and in the functions and constants of the project that it uses. */
function nodesIn(source: Source, node: Node, seen = new Set<Node>()): Node[] {
  if (seen.has(node) || node.getSourceFile().isInNodeModules()) return [];
  seen.add(node);
  return [node, ...node.getDescendants()].flatMap((each) => {
    const definition = Node.isIdentifier(each) ? definitionOf(each) : undefined;
    return definition ? [each, ...nodesIn(source, definition, seen)] : [each];
  });
}

/** Whether a node runs only a part of the code in it. */
function isBranch(node: Node): boolean {
  if (Node.isBinaryExpression(node)) return /^(&&|\|\||\?\?)$/.test(node.getOperatorToken().getText());
  return Node.isIfStatement(node) || Node.isConditionalExpression(node) || Node.isSwitchStatement(node);
}

export function mapOf(source: Source, node: Node | undefined): Values | undefined {
  return valuesOf(source, objectAt(node));
}

export function entriesOf(source: Source, node: Node | undefined) {
  return [...(mapOf(source, node) ?? [[UNKNOWN, undefined] as const])];
}

/** The calls of `forRoot` and `forRootAsync` of a module, outside tests. */
export function rootsOf(sources: readonly Source[], module: string) {
  return sources
    .filter(({ file }) => !isTest(file))
    .flatMap((source) => {
      const name = source.localName(module) ?? module;
      const names = [`${name}.forRoot`, `${name}.forRootAsync`];
      const calls = source.file.getDescendantsOfKind(SyntaxKind.CallExpression);
      const roots = calls.filter((call) => names.includes(call.getExpression().getText()));
      return roots.map((call) => ({ source, call }));
    });
}

/** The throttlers in a call by name; a name that is not known is `UNKNOWN`. */
export function throttlersOf(
  source: Source,
  call: TsMorph.CallExpression,
): (readonly [string, Values | undefined])[] {
  const nodes = [call, ...factoriesOf(source, call)].flatMap((place) => nodesIn(source, place));
  const lists = [...new Set(nodes)]
    .filter((node) => Node.isArrayLiteralExpression(node))
    .filter((list) => list.getElements().some((each) => /\b(ttl|limit)\b/.test(each.getText())));
  if (lists.length !== 1) return [[UNKNOWN, undefined]];
  const found = lists[0]!.getElements().map((each) => {
    const values = valuesOf(source, each);
    const name = values?.has('name') ? source.valueOf(values.get('name')) : values && 'default';
    return [String(name ?? UNKNOWN), values] as const;
  });
  const isTwice = new Set(found.map(([name]) => name)).size < found.length;
  return isTwice ? [[UNKNOWN, undefined]] : found;
}

/** The classes with options that a call names as `useClass`. */
export function factoriesOf(source: Source, call: TsMorph.CallExpression): Node[] {
  const used = mapOf(source, call.getArguments()[0])?.get('useClass');
  return (used?.getSymbol()?.getAliasedSymbol() ?? used?.getSymbol())?.getDeclarations() ?? [];
}

/** Whether a node is a key of throttler's metadata, its beginning, or the name of one that its file imports. */
export function isMetadataKey(node: Node): boolean {
  if (Node.isIdentifier(node) && !Node.isImportSpecifier(node.getParent()))
    return (
      /throttler\.constants['"]/.test(node.getSourceFile().getFullText()) &&
      KEYS.some((key) => isCalled(node, key))
    );
  const isText = Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node);
  return (isText || Node.isTemplateExpression(node)) && /^.THROTTLER:/.test(node.getText());
}

/** Whether a node is the name of an export in the imports of its file, also through a file that exports it again. */
export function isCalled(node: Node, name: string): boolean {
  const imports = node.getSourceFile().getImportDeclarations();
  return imports.some((each) => {
    const found = each.getNamedImports().find((named) => named.getName() === name);
    if (!found || (found.getAliasNode()?.getText() ?? name) !== node.getText()) return false;
    const others = each.getModuleSpecifierSourceFile()?.getExportDeclarations() ?? [];
    const modules = [each, ...others].map((from) => from.getModuleSpecifierValue() ?? '');
    return modules.some((module) => isFrom(module, THROTTLER) || isFrom(module, PACKAGE));
  });
}

/** A class and those of the project that it extends. */
export function lineageOf(type: Class): Class[] {
  const parent = type.getBaseClass();
  return parent && parent !== type ? [type, ...lineageOf(parent)] : [type];
}

/** A guard and its subclasses: the names of those that a node names, and of those that limit every route. */
export type Guards = ReturnType<typeof guardsOf>;

/** The classes of a file that extend a guard, also through others. */
export function subclassesIn(source: Source, guard: string): Class[] {
  return classesIn(source).filter((type) =>
    lineageOf(type).some((each) => {
      const base = each.getExtends()?.getExpression();
      return base && isCalled(base, guard);
    }),
  );
}

/** Finds the uses of a guard: `APP_GUARD` and `useGlobalGuards` limit every route. */
export function guardsOf(sources: readonly Source[], guard: string) {
  const names = new Set<string | undefined>();
  for (const source of sources) {
    names.add(source.localName(guard) ?? source.localName(guard, PACKAGE) ?? guard);
    for (const type of subclassesIn(source, guard)) names.add(type.getName());
  }
  const namesIn = (node: Node): string[] =>
    nodesIn(sources[0]!, node)
      .filter((each) => Node.isIdentifier(each) && names.has(each.getText()))
      .map((each) => each.getText());
  const global = sources.flatMap(({ file }) => {
    const providers = file
      .getDescendantsOfKind(SyntaxKind.ObjectLiteralExpression)
      .filter((each) => /\bprovide:\s*APP_GUARD\b/.test(each.getText()));
    const calls = file
      .getDescendantsOfKind(SyntaxKind.CallExpression)
      .filter((each) => each.getExpression().getText().endsWith('.useGlobalGuards'));
    return [...providers, ...calls.flatMap((each) => each.getArguments())].flatMap(namesIn);
  });
  return { namesIn, global };
}

/** The names of the guards of throttler that a request passes beside another, outside tests. */
export function sharedGuards(all: readonly Source[]): Set<string> {
  const sources = all.filter(({ file }) => !isTest(file));
  const { global, namesIn } = guardsOf(sources, 'ThrottlerGuard');
  const lists = sources.flatMap((source) => {
    const guardsAt = (place: Place): string[] =>
      usedGuards(decorationsAt(source, place)).flatMap((each) => namesIn(each));
    return classesIn(source).flatMap((type) => {
      const lineage = lineageOf(type);
      const own = lineage.flatMap(guardsAt);
      return lineage.flatMap((each) => each.getMethods()).map((method) => [...own, ...guardsAt(method)]);
    });
  });
  const routes = [[], ...lists].map((each) => new Set([...global, ...each]));
  return new Set(routes.filter(({ size }) => size > 1).flatMap((names) => [...names]));
}

/** The guards that decorators add. */
export function usedGuards(decorations: readonly Decoration[]): Node[] {
  const calls = decorations.map(({ call }) => call);
  return calls
    .filter((call) => call.getExpression().getText() === 'UseGuards')
    .flatMap((call) => call.getArguments());
}
