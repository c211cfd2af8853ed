import type * as TsMorph from 'ts-morph';
import { definitionOf } from './constants.js';
import { PACKAGE, THROTTLER, type Source } from './source.js';
import { valuesOf } from './rules.js';

export const UNKNOWN = 'unknown';

export type Place = TsMorph.ClassDeclaration | TsMorph.MethodDeclaration;

/** The calls of the decorators of a class or method, and those in functions that compose them, in the order in which they run. */
export function callsAt({ m }: Source, place: Place): TsMorph.CallExpression[] {
  return place
    .getDecorators()
    .toReversed()
    .flatMap((decorator) => {
      const call = decorator.getCallExpression();
      const composed = call && definitionOf(m, call.getExpression());
      return call ? [call, ...(composed?.getDescendantsOfKind(m.SyntaxKind.CallExpression) ?? [])] : [];
    });
}

export function mapOf(source: Source, node: TsMorph.Node | undefined): Map<string, TsMorph.Node> | undefined {
  if (!node) return undefined;
  const { Node } = source.m;
  let found: TsMorph.Node | undefined = Node.isObjectLiteralExpression(node)
    ? node
    : definitionOf(source.m, node);
  while (Node.isAsExpression(found) || Node.isSatisfiesExpression(found)) found = found.getExpression();
  return Node.isObjectLiteralExpression(found) ? valuesOf(source, found) : undefined;
}

export function entriesOf(
  source: Source,
  node: TsMorph.Node | undefined,
): readonly (readonly [string, TsMorph.Node | undefined])[] {
  return [...(mapOf(source, node) ?? [[UNKNOWN, undefined] as const])];
}

/** The calls of `forRoot` and `forRootAsync` of a module. */
export function callsOf(source: Source, module: string): TsMorph.CallExpression[] {
  const name = source.localName(module) ?? module;
  return source.file
    .getDescendantsOfKind(source.m.SyntaxKind.CallExpression)
    .filter((call) => [`${name}.forRoot`, `${name}.forRootAsync`].includes(call.getExpression().getText()));
}

/** The elements of the throttlers in a call; `undefined` if they are no literal. */
export function throttlersOf(source: Source, call: TsMorph.CallExpression): TsMorph.Node[] | undefined {
  const { Node } = source.m;
  const places = [call, ...factoriesOf(source, call)];
  const lists = places.flatMap((place) => [
    ...objectsIn(source, place).flatMap((each) => valuesOf(source, each)?.get('throttlers') ?? []),
    ...place.getDescendantsOfKind(source.m.SyntaxKind.ArrayLiteralExpression),
  ]);
  const list = lists.find(
    (each) =>
      Node.isArrayLiteralExpression(each) &&
      each.getElements().some((element) => /\b(ttl|limit)\b/.test(element.getText())),
  );
  return Node.isArrayLiteralExpression(list) ? list.getElements() : undefined;
}

export function objectsIn({ m }: Source, node: TsMorph.Node): TsMorph.ObjectLiteralExpression[] {
  return node.getDescendantsOfKind(m.SyntaxKind.ObjectLiteralExpression);
}

/** The classes with options that a call names as `useClass`. */
export function factoriesOf(source: Source, call: TsMorph.CallExpression): TsMorph.Node[] {
  const used = mapOf(source, call.getArguments()[0])?.get('useClass');
  return (used?.getSymbol()?.getAliasedSymbol() ?? used?.getSymbol())?.getDeclarations() ?? [];
}

/** The calls of a decorator on a class and its method. */
export function decorated(source: Source, places: readonly Place[], name: string): TsMorph.CallExpression[] {
  return places.flatMap((place) =>
    callsAt(source, place).filter((call) => isCalled(call.getExpression(), name)),
  );
}

/** Whether a node is the name of a decorator in the imports of its file, also through a file that exports it again. */
function isCalled(node: TsMorph.Node, name: string): boolean {
  const packages = [THROTTLER, PACKAGE];
  return node
    .getSourceFile()
    .getImportDeclarations()
    .some((each) => {
      const found = each.getNamedImports().find((named) => named.getName() === name);
      if (!found || (found.getAliasNode()?.getText() ?? name) !== node.getText()) return false;
      if (packages.includes(each.getModuleSpecifierValue())) return true;
      const others = each.getModuleSpecifierSourceFile()?.getExportDeclarations() ?? [];
      return others.some((other) => packages.includes(other.getModuleSpecifierValue() ?? ''));
    });
}
