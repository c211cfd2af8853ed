import { Node, SyntaxKind } from './ts-morph.js';
import type * as TsMorph from 'ts-morph';

type Constant = string | number | boolean;

/** Milliseconds of throttler's helpers. */
export const HELPERS: Readonly<Record<string, number>> = {
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

/** Returns an expression without parentheses and assertions of its type. */
function bare(node: Node | undefined): Node | undefined {
  let inner = node;
  while (
    Node.isParenthesizedExpression(inner) ||
    Node.isAsExpression(inner) ||
    Node.isSatisfiesExpression(inner) ||
    Node.isNonNullExpression(inner)
  )
    inner = inner.getExpression();
  return inner;
}

/**
 * Returns the value of an expression of literals, constants, members of enums and of constant objects, also from other
 * files; `undefined` for anything else, and for what the program changes later.
 *
 * @param helperOf returns the name of throttler's helper that a node is
 */
export function valueOf(
  expression: Node | undefined,
  helperOf: (node: Node) => string | undefined,
): Constant | undefined {
  const node = bare(expression);
  const read = (each: Node | undefined): Constant | undefined => valueOf(each, helperOf);
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return node.getLiteralText();
  if (Node.isNumericLiteral(node)) return node.getLiteralValue();
  if (Node.isTrueLiteral(node) || Node.isFalseLiteral(node)) return Node.isTrueLiteral(node);
  if (Node.isBinaryExpression(node)) return calculated(node, read(node.getLeft()), read(node.getRight()));
  if (Node.isTemplateExpression(node)) {
    const spans = node
      .getTemplateSpans()
      .map((span) => [read(span.getExpression()), span.getLiteral()] as const);
    if (spans.some(([value]) => value === undefined)) return undefined;
    const texts = spans.map(([value, text]) => `${value}${text.getLiteralText()}`);
    return node.getHead().getLiteralText() + texts.join('');
  }
  if (Node.isCallExpression(node)) {
    const helper = helperOf(node.getExpression());
    const count = helper === undefined ? undefined : read(node.getArguments()[0]);
    return typeof count === 'number' ? count * (HELPERS[helper!] ?? NaN) : undefined;
  }
  if (!Node.isIdentifier(node) && !Node.isPropertyAccessExpression(node)) return undefined;
  if (isChanged(node)) return undefined;
  const type = node.getType();
  if (type.isStringLiteral() || type.isNumberLiteral() || type.isEnumLiteral())
    return type.getLiteralValue() as Constant | undefined;
  return read(definitionOf(node));
}

/** Returns the expression that a constant, or a property of a constant object, is defined by and keeps. */
export function definitionOf(node: Node): Node | undefined {
  if (isChanged(node)) return undefined;
  const name = Node.isPropertyAccessExpression(node) ? node.getNameNode() : node;
  const symbol = name.getSymbol();
  for (const each of (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? []) {
    const isConstant =
      Node.isVariableDeclaration(each) &&
      each.getVariableStatement()?.getDeclarationKindKeywords()[0]?.getText() === 'const';
    if (isConstant || Node.isPropertyAssignment(each)) return each.getInitializer();
    if (Node.isPropertyDeclaration(each) && each.isStatic() && each.isReadonly())
      return each.getInitializer();
    if (Node.isFunctionDeclaration(each) || Node.isMethodDeclaration(each)) return each;
  }
  return undefined;
}

/** Returns the object literal that a node is, or that it is the name of. */
export function objectAt(node: Node | undefined): TsMorph.ObjectLiteralExpression | undefined {
  const found = bare(Node.isObjectLiteralExpression(node) ? node : node && definitionOf(node));
  return Node.isObjectLiteralExpression(found) ? found : undefined;
}

function calculated(
  node: TsMorph.BinaryExpression,
  left: Constant | undefined,
  right: Constant | undefined,
): Constant | undefined {
  if (typeof left !== 'number' || typeof right !== 'number') return undefined;
  return { '*': left * right, '+': left + right, '-': left - right, '/': left / right }[
    node.getOperatorToken().getText()
  ];
}

/** Calls that only read the objects which they are given. */
const READERS =
  /^((Skip)?(Throttle|RateLimit)|JSON\.stringify|console\.\w+|Object\.(freeze|keys|values|entries))$|\.forRoot(Async)?$/;

const MUTATORS = /^(push|unshift|splice|pop|shift|sort|reverse|fill|copyWithin)$/;

const ASSIGNMENT = /^(?![=!<>]=)\S*=$/;

const changes = new WeakMap<TsMorph.Project, ReadonlySet<Node>>();

/** Whether the program changes a variable, or the object whose property a node is, after its definition. */
function isChanged(node: Node): boolean {
  const project = node.getProject();
  const found = changes.get(project) ?? changesIn(project);
  changes.set(project, found);
  const root = rootOf(node);
  return root !== undefined && found.has(root);
}

/** Whether a file has tests, whose modules limit no route. */
export function isTest(file: TsMorph.SourceFile): boolean {
  return /[.-](spec|test)\.[cm]?tsx?$/.test(file.getFilePath());
}

function changesIn(project: TsMorph.Project): ReadonlySet<Node> {
  const files = project.getSourceFiles().filter((file) => !file.isInNodeModules() && !isTest(file));
  const targets = files.flatMap((file) => file.getDescendants().flatMap((node) => targetsOf(node)));
  return new Set(targets.flatMap((target) => rootOf(target) ?? []));
}

/** The expressions that a node changes, or passes to a function that may change them. */
function targetsOf(node: Node): Node[] {
  if (Node.isBinaryExpression(node))
    return ASSIGNMENT.test(node.getOperatorToken().getText()) ? [node.getLeft()] : [];
  if (Node.isPrefixUnaryExpression(node) || Node.isPostfixUnaryExpression(node)) {
    const isStep = [SyntaxKind.PlusPlusToken, SyntaxKind.MinusMinusToken].includes(node.getOperatorToken());
    return isStep ? [node.getOperand()] : [];
  }
  if (Node.isDeleteExpression(node)) return [node.getExpression()];
  if (!Node.isCallExpression(node) || READERS.test(node.getExpression().getText())) return [];
  const callee = node.getExpression();
  const isMutator = Node.isPropertyAccessExpression(callee) && MUTATORS.test(callee.getName());
  return [
    ...(isMutator ? [callee.getExpression()] : []),
    ...node.getArguments().filter((each) => isObject(each)),
  ];

  function isObject(each: Node): boolean {
    const isName = Node.isIdentifier(each) || Node.isPropertyAccessExpression(each);
    return isName && each.getType().isObject() && each.getType().getCallSignatures().length === 0;
  }
}

/** The declaration of the variable or class whose value, or property at any depth, a node is. */
function rootOf(node: Node): Node | undefined {
  let root = bare(node);
  while (Node.isPropertyAccessExpression(root) || Node.isElementAccessExpression(root))
    root = bare(root.getExpression());
  if (!Node.isIdentifier(root)) return undefined;
  const symbol = root.getSymbol();
  const [declaration] = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
  const value = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : undefined;
  const isAlias = Node.isIdentifier(value) || Node.isPropertyAccessExpression(value);
  return (isAlias && value.getType().isObject() ? rootOf(value) : undefined) ?? declaration;
}
