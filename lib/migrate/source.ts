import type * as TsMorph from 'ts-morph';
import { inWholeUnits } from '../contracts/duration.js';
import { HELPERS, valueOf } from './constants.js';
import { Node, SyntaxKind } from './ts-morph.js';

export const THROTTLER = '@nestjs/throttler';

export const PACKAGE = 'nestjs-redis-rate-limit';

/** Calls of this name do not compile: code that has to be changed by hand. */
export const MARK = 'MIGRATE_BY_HAND';

/** Names that are types, which must not be imported as values with `isolatedModules`. */
const TYPES = new Set(['Decision', 'ExecutionContext']);

/** Facts about the whole application that one file cannot show. */
export interface Application {
  /** Names of the throttlers; `undefined` if they are not visible in the source. */
  readonly names: ReadonlySet<string> | undefined;
  /** Whether options or decorators of throttler have a `getTracker`, which precedes that of a guard. */
  readonly hasTrackers: boolean;
  /** The subclasses of throttler's guard. */
  readonly guards: ReadonlySet<Node>;
  /** Names of the guards that a request passes beside another; it counts once here. */
  readonly sharedGuards: ReadonlySet<string>;
  /** Number of calls of `forRoot` and `forRootAsync` of throttler. */
  readonly roots: number;
}

/** A source file during its migration: its imports of throttler, and what is left alone in it. */
export class Source {
  readonly leftAlone: string[] = [];
  /** Known when all files have been read, before one of them is changed. */
  application!: Application;
  private readonly needed = new Map<string, Set<string>>();

  constructor(readonly file: TsMorph.SourceFile) {}

  /** Returns the name that the file uses for an export of a package; `undefined` if it does not import it. */
  localName(exported: string, from = THROTTLER): string | undefined {
    return localNameIn(this.file, exported, from);
  }

  /** Whether a node is the name of an export of throttler. */
  is(node: Node | undefined, exported: string): boolean {
    return node !== undefined && node.getText() === this.localName(exported);
  }

  /** Adds an import at the end of the migration. */
  need(name: string, from = PACKAGE): string {
    this.needed.set(from, (this.needed.get(from) ?? new Set()).add(name));
    return name;
  }

  /** The name of throttler's helper that a node is, such as `minutes`; the node may be in another file. */
  helperOf(node: Node): string | undefined {
    const file = node.getSourceFile();
    return Object.keys(HELPERS).find((name) => node.getText() === localNameIn(file, name, THROTTLER));
  }

  /** The value of a constant expression. */
  valueOf(node: Node | undefined) {
    return valueOf(node, (each) => this.helperOf(each));
  }

  /** Reports code that has to be changed by hand, and marks it so that it does not compile. */
  mark(node: Node, why: string): void {
    this.leave(node, why);
    const parent = node.getParent();
    const type =
      node.getParentIfKind(SyntaxKind.ClassDeclaration) ?? node.getParentIfKind(SyntaxKind.ClassExpression);
    if (Node.isExportSpecifier(parent)) {
      parent.replaceWithText(`${MARK} as ${parent.getAliasNode()?.getText() ?? parent.getName()}`);
    } else if (Node.isShorthandPropertyAssignment(parent)) {
      parent.replaceWithText(`${node.getText()}: ${this.marked(node.getText(), why)}`);
    } else if (Node.isTypeQuery(parent)) node.replaceWithText(MARK);
    else if (Node.isDecorator(node)) node.replaceWithText(`@${this.marked(node.getText().slice(1), why)}`);
    else if (type) {
      const index = type.getMembers().findIndex((member) => member.getPos() === node.getPos());
      type.insertProperty(index, { name: MARK, initializer: this.marked('', why) });
    } else node.replaceWithText(this.marked(node.getText(), why));
  }

  /** Returns code that does not compile, with the reason. */
  marked(text: string, why: string): string {
    return `${MARK}(${[text, JSON.stringify(why)].filter(Boolean).join(', ')})`;
  }

  /** Reports code that has to be changed by hand. */
  leave(node: Node, why: string): void {
    const text = node.getText().replace(/\s+/g, ' ');
    this.leftAlone.push(`${text.length > 60 ? `${text.slice(0, 57)}...` : text}\n    ${why}`);
  }

  /** Removes imports that the migration made unused, adds those that it needs, and reports those that it cannot follow. */
  finish(): void {
    for (const each of this.file.getDescendantsOfKind(SyntaxKind.StringLiteral)) {
      if (!isFrom(each.getLiteralText(), THROTTLER)) continue;
      const parent = each.getParentOrThrow();
      if (Node.isExportDeclaration(parent)) this.leave(parent, `it exports names of ${THROTTLER}`);
      else if (!Node.isImportDeclaration(parent))
        this.leave(parent, `it loads ${THROTTLER} without naming what it uses; import the names`);
    }
    for (const declaration of this.file.getImportDeclarations()) {
      const whole = declaration.getNamespaceImport() ?? declaration.getDefaultImport();
      const from = declaration.getModuleSpecifierValue();
      const isMigrated = isFrom(from, THROTTLER) || from.includes('throttler-storage');
      if (whole && isFrom(from, THROTTLER)) {
        this.leave(
          declaration,
          'it is imported as a whole, so that its uses are not found; import the names',
        );
      }
      for (const each of declaration.getNamedImports()) {
        const name = each.getAliasNode()?.getText() ?? each.getName();
        if (isMigrated && this.usesOf(name).length === 0) {
          if (declaration.getNamedImports().length > 1 || declaration.getDefaultImport()) each.remove();
          else declaration.remove();
        } else if (isFrom(from, THROTTLER)) {
          this.leave(each, `it is still imported from ${THROTTLER}; remove its uses`);
        }
      }
    }
    for (const [from, names] of this.needed) this.addImport(from, [...names].toSorted());
  }

  /** Returns where the file uses a name, besides its imports. */
  usesOf(name: string | undefined): TsMorph.Identifier[] {
    const names = this.file.getDescendantsOfKind(SyntaxKind.Identifier);
    const uses = names.filter((each) => each.getText() === name && !isNameOfMember(each));
    return uses.filter((each) => !each.getFirstAncestorByKind(SyntaxKind.ImportDeclaration));
  }

  private addImport(from: string, names: readonly string[]): void {
    const used = names.filter((name) => this.usesOf(name).length > 0);
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

function localNameIn(file: TsMorph.SourceFile, exported: string, from: string): string | undefined {
  for (const declaration of file.getImportDeclarations()) {
    if (!isFrom(declaration.getModuleSpecifierValue(), from)) continue;
    const found = declaration.getNamedImports().find((each) => each.getName() === exported);
    if (found) return found.getAliasNode()?.getText() ?? found.getName();
  }
  return undefined;
}

/** Whether a node only names a member, which has nothing to do with an import of the same name. */
function isNameOfMember(node: Node): boolean {
  const parent = node.getParent();
  const isMember =
    Node.isMethodDeclaration(parent) ||
    Node.isPropertyDeclaration(parent) ||
    Node.isPropertyAssignment(parent) ||
    Node.isPropertyAccessExpression(parent);
  return isMember && parent.getNameNode() === node;
}

/** Whether a module is a package, or a file of it. */
export function isFrom(specifier: string, from: string): boolean {
  return specifier === from || specifier.startsWith(`${from}/`);
}

/** The classes of a file, also those within functions. */
export function classesIn({ file }: Source) {
  return [
    ...file.getDescendantsOfKind(SyntaxKind.ClassDeclaration),
    ...file.getDescendantsOfKind(SyntaxKind.ClassExpression),
  ];
}

/** Returns the source of a duration for milliseconds: `'1m'` for `60_000` and for `minutes(1)`. */
export function durationFor(source: Source, value: Node): string {
  const names = [value, ...value.getDescendants()].filter((each) => Node.isIdentifier(each));
  // The name of a constant stays where it is.
  const milliseconds = names.every((each) => source.helperOf(each)) ? source.valueOf(value) : undefined;
  if (typeof milliseconds === 'number') return `'${textOf(milliseconds)}'`;
  const text = withoutHelpers(source, value);
  const [signature] = value.getType().getCallSignatures();
  if (!signature) return `\`\${${text}}ms\``;
  const isAsync = signature.getReturnType().getText().startsWith('Promise');
  const call = `(${text})(${signature.getParameters().length > 0 ? 'context' : ''})`;
  // The compiler does not infer the parameter of a function in `window`.
  const parameter = `context: ${source.need('ExecutionContext', '@nestjs/common')}`;
  return `${isAsync ? 'async ' : ''}(${parameter}) => \`\${${isAsync ? 'await ' : ''}${call}}ms\` as const`;
}

/** Returns the largest unit that divides a number of milliseconds. */
export function textOf(milliseconds: number): string {
  const text = milliseconds > 0 ? inWholeUnits(milliseconds * 1000) : undefined;
  return text ?? `${Math.ceil(milliseconds)}ms`;
}

/** Returns the source of a value with `minutes(n)` written as `(n) * 60000`, since the helpers are throttler's. */
function withoutHelpers(source: Source, value: Node): string {
  let text = value.getText();
  for (const [name, length] of Object.entries(HELPERS)) {
    const local = source.localName(name);
    if (local) text = text.replace(new RegExp(`\\b${local}\\(([^()]*)\\)`, 'g'), `($1) * ${length}`);
  }
  return text;
}
