import type * as TsMorph from 'ts-morph';
import { Node, SyntaxKind } from './ts-morph.js';

/** Calls that only read the objects which they are given. */
const READERS =
  /^((Skip)?(Throttle|RateLimit)|JSON\.stringify|console\.\w+|Object\.(freeze|keys|values|entries))$|\.forRoot(Async)?$/;

const MUTATORS = /^(push|unshift|splice|pop|shift|sort|reverse|fill|copyWithin)$/;

const ASSIGNMENT = /^(?![=!<>]=)\S*=$/;

const changes = new WeakMap<TsMorph.Project, ReadonlySet<Node>>();

/** Whether the program changes a variable, or the object whose property a node is, after its definition. */
export function isChanged(node: Node): boolean {
  const project = node.getProject();
  const found = changes.get(project) ?? changesIn(project);
  changes.set(project, found);
  const root = rootOf(node);
  return root !== undefined && found.has(root);
}

/** Whether a file has tests, whose modules limit no route. */
export function isTest(file: TsMorph.SourceFile): boolean {
  return /[.-](spec|test)\.[cm]?ts$/.test(file.getFilePath());
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
  let root = node;
  while (
    Node.isPropertyAccessExpression(root) ||
    Node.isElementAccessExpression(root) ||
    Node.isNonNullExpression(root) ||
    Node.isParenthesizedExpression(root) ||
    Node.isAsExpression(root)
  )
    root = root.getExpression();
  if (!Node.isIdentifier(root)) return undefined;
  const symbol = root.getSymbol();
  const [declaration] = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
  const value = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : undefined;
  const isAlias = Node.isIdentifier(value) || Node.isPropertyAccessExpression(value);
  return (isAlias && value.getType().isObject() ? rootOf(value) : undefined) ?? declaration;
}
