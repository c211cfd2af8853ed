import type * as TsMorph from 'ts-morph';

/** The library, which the command loads: it is no dependency of an application. */
export let tsMorph: typeof TsMorph;
export let Node: typeof TsMorph.Node;
export type Node = TsMorph.Node;
export let SyntaxKind: typeof TsMorph.SyntaxKind;

/** Migrates with a loaded library from now on. */
export function useTsMorph(loaded: typeof TsMorph): void {
  ({ Node, SyntaxKind } = tsMorph = loaded);
}

/** The values of an object literal by their names. */
export type Values = ReadonlyMap<string, Node>;
