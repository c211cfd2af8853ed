import type * as TsMorph from 'ts-morph';

export const THROTTLER = '@nestjs/throttler';
const PACKAGE = 'nestjs-redis-rate-limit';

/** Names that are types, which must not be imported as values with `isolatedModules`. */
const TYPES = new Set(['Decision', 'ExecutionContext']);

/** Facts about the whole application that one file cannot show. */
export interface Application {
  /** Names of the throttlers; `undefined` if they are not visible in the source. */
  names: Set<string> | undefined;
  /** Whether the guard of throttler is an APP_GUARD, so that the module's own guard replaces it. */
  hasGlobalGuard: boolean;
}

/** A source file during its migration: its imports of throttler, and what is left alone in it. */
export class Source {
  readonly leftAlone: string[] = [];
  private readonly needed = new Map<string, Set<string>>();

  constructor(
    readonly m: typeof TsMorph,
    readonly file: TsMorph.SourceFile,
    readonly application: Application,
  ) {}

  /** Returns the name that the file uses for an export of a package; `undefined` if it does not import it. */
  localName(exported: string, from = THROTTLER): string | undefined {
    for (const declaration of this.file.getImportDeclarations()) {
      if (declaration.getModuleSpecifierValue() !== from) continue;
      const found = declaration.getNamedImports().find((each) => each.getName() === exported);
      if (found) return found.getAliasNode()?.getText() ?? found.getName();
    }
    return undefined;
  }

  /** Whether a node is the name of an export of throttler. */
  is(node: TsMorph.Node | undefined, exported: string): boolean {
    return node !== undefined && node.getText() === this.localName(exported);
  }

  /** Adds an import at the end of the migration. */
  need(name: string, from = PACKAGE): string {
    this.needed.set(from, (this.needed.get(from) ?? new Set()).add(name));
    return name;
  }

  /** Reports code that has to be changed by hand. */
  leave(node: TsMorph.Node, why: string): void {
    const text = node.getText().replace(/\s+/g, ' ');
    this.leftAlone.push(`${text.length > 60 ? `${text.slice(0, 57)}...` : text}\n    ${why}`);
  }

  /** Removes imports that the migration made unused, and adds those that it needs. */
  finish(): void {
    for (const declaration of this.file.getImportDeclarations()) {
      for (const each of declaration.getNamedImports()) {
        const name = each.getAliasNode()?.getText() ?? each.getName();
        if (this.isMigrated(declaration, name) && !this.isUsed(name)) {
          if (declaration.getNamedImports().length > 1 || declaration.getDefaultImport()) each.remove();
          else declaration.remove();
        } else if (declaration.getModuleSpecifierValue() === THROTTLER) {
          this.leave(each, `it is still imported from ${THROTTLER}; remove its uses`);
        }
      }
    }
    for (const [from, names] of this.needed) this.addImport(from, [...names].toSorted());
  }

  private isMigrated(declaration: TsMorph.ImportDeclaration, name: string): boolean {
    const from = declaration.getModuleSpecifierValue();
    return from === THROTTLER || from.includes('throttler-storage') || name === 'APP_GUARD';
  }

  private isUsed(name: string): boolean {
    return this.file
      .getDescendantsOfKind(this.m.SyntaxKind.Identifier)
      .some(
        (each) =>
          each.getText() === name && !each.getFirstAncestorByKind(this.m.SyntaxKind.ImportDeclaration),
      );
  }

  private addImport(from: string, names: readonly string[]): void {
    const used = names.filter((name) => this.isUsed(name));
    const missing = used.filter((name) => this.localName(name, from) === undefined);
    if (missing.length === 0) return;
    const known = this.file
      .getImportDeclarations()
      .find((each) => each.getModuleSpecifierValue() === from && !each.isTypeOnly());
    const namedImports = missing.map((name) => ({ name, isTypeOnly: TYPES.has(name) }));
    if (known) known.addNamedImports(namedImports);
    else this.file.addImportDeclaration({ moduleSpecifier: from, namedImports });
  }
}
