import type * as TsMorph from 'ts-morph';
import { classesIn, type Source } from './source.js';
import type { Class } from './throttlers.js';
import { Node, SyntaxKind } from './ts-morph.js';

/** The name that `getRequestResponse` gets: the guard refuses hooks of throttler, which nothing calls. */
const REQUEST_OF = 'requestOf';

const DETAILS: Readonly<Record<string, string>> = {
  limit: 'decision.limit',
  ttl: 'decision.windowMs',
  totalHits: '(decision.limit - decision.remaining + 1)',
  timeToExpire: 'Math.ceil(decision.resetAfterMs / 1000)',
  timeToBlockExpire: 'Math.ceil((decision.retryAfterMs ?? 0) / 1000)',
  isBlocked: '!decision.allowed',
};

const PRECEDED =
  'a getTracker of options or @Throttle precedes it, but `subjectOf` precedes every `by`; write it as `by` in `defaults`';

const DEFAULT =
  'only a returned super.getTracker(req) has a counterpart, the result `undefined`; write `subjectOf` with the address of the request';

const NOT_THROWN =
  "it may return, which allows the request, but `deny` always denies; end it with a throw, or write mode: 'shadow' in the rules";

const REQUEST =
  'getRequestResponse: nothing calls it, since the guard finds the request of each transport; if it changes the address, write `by`; else remove it';

const SHARED_HOOKS = ['getTracker', 'shouldSkip', 'throwThrottlingException'];

const SHARED =
  'another guard of throttler runs for the same request, which counts once here; write two rules with different `by`, for one guard';

const OTHERS: Readonly<Record<string, string>> = {
  generateKey: 'write `subjectOf`, and the `scope` of the rule',
  handleRequest: 'write `shouldSkip`, `subjectOf` and `deny`',
  getErrorMessage: 'write `deny`, or the option `body`',
  errorMessage: 'write `deny`, or the option `body`',
  headerPrefix: "write the option `headers`, such as headers: 'throttler'",
  onModuleInit: 'call `super.onModuleInit()`; it has no `throttlers` here',
  canActivate: 'call `super.canActivate(context)`',
};

/**
 * Rewrites subclasses of throttler's guard, its exception, and its registration. Its APP_GUARD keeps its place, because
 * guards of the root module run before those of imported modules.
 */
export function migrateGuards(source: Source): void {
  for (const type of classesIn(source)) if (source.application.guards.has(type)) migrateGuard(source, type);
  migrateExceptions(source);
  for (const each of source.usesOf(source.localName('ThrottlerGuard')))
    each.replaceWithText(source.need('RateLimitGuard'));
}

type Member = TsMorph.ClassInstancePropertyTypes | TsMorph.MethodDeclaration;

function migrateGuard(source: Source, type: Class): void {
  const members = [...type.getMethods(), ...type.getProperties()];
  const request = type.getMethod('getRequestResponse');
  if (request && !members.some((each) => each.getName() === 'getTracker')) source.leave(request, REQUEST);
  for (const member of members) {
    const name = member.getName();
    const isShared = source.application.sharedGuards.has(type.getName() ?? '');
    if (isShared && SHARED_HOOKS.includes(name)) source.mark(member, `${name}: ${SHARED}`);
    else if (name === 'getTracker') migrateTracker(source, type, member);
    else if (name === 'getRequestResponse') rename(source, type, member as TsMorph.MethodDeclaration);
    else if (name === 'shouldSkip') override(member);
    else if (name === 'throwThrottlingException') migrateDenial(source, member);
    else if (Object.hasOwn(OTHERS, name)) source.mark(member, `${name}: ${OTHERS[name]}`);
  }
  for (const each of type.getConstructors())
    source.mark(each, 'constructor: a guard has none here; inject into properties');
}

/** The guard finds the request of each transport by itself: the method stays one of the class, which its tracker calls. */
function rename(source: Source, type: Class, member: TsMorph.MethodDeclaration): void {
  if (member.getText().includes('super.'))
    return source.mark(member, 'getRequestResponse: it calls `super`; find the request of the context');
  member.setHasOverrideKeyword(false);
  for (const each of type.getDescendantsOfKind(SyntaxKind.Identifier)) {
    if (each.getText() === 'getRequestResponse') each.replaceWithText(REQUEST_OF);
  }
}

function migrateTracker(source: Source, type: Class, member: Member): void {
  if (source.application.hasTrackers) return source.mark(member, `getTracker: ${PRECEDED}`);
  if (!Node.isMethodDeclaration(member)) return source.mark(member, 'getTracker: write `subjectOf`');
  const [request, context] = member.getParameters();
  const requestName = request?.getNameNode().getText();
  const defaults = member
    .getDescendantsOfKind(SyntaxKind.PropertyAccessExpression)
    .filter((each) => each.getText() === 'super.getTracker')
    .map((each) => defaultIn(member, each, requestName));
  if (defaults.includes(undefined)) return source.mark(member, `getTracker: ${DEFAULT}`);
  const contextName = context?.getName() ?? 'context';
  for (const parameter of member.getParameters()) parameter.remove();
  member.addParameter({ name: contextName, type: source.need('ExecutionContext', '@nestjs/common') });
  if (requestName) {
    const own = type.getMethod('getRequestResponse') ?? type.getMethod(REQUEST_OF);
    const found = own
      ? `this.${own.getName()}(${contextName}).req`
      : `${contextName}.switchToHttp().getRequest()`;
    member.insertStatements(0, `const ${requestName} = ${found};`);
  }
  for (const each of defaults) each!.replaceWithText('undefined');
  member.removeReturnType();
  member.getNameNode().replaceWithText('subjectOf');
  override(member);
}

/** Returns the call of the default tracker if the method returns its result, so that it can return `undefined` instead. */
function defaultIn(member: Node, callee: Node, request: string | undefined): Node | undefined {
  const call = callee.getParentIfKind(SyntaxKind.CallExpression);
  if (!call || call.getArguments()[0]?.getText() !== request) return undefined;
  const value = call.getParentIfKind(SyntaxKind.AwaitExpression) ?? call;
  let returned: Node = value;
  for (let parent = returned.getParent(); parent; parent = returned.getParent()) {
    const isBranch = Node.isConditionalExpression(parent)
      ? parent.getCondition() !== returned
      : Node.isBinaryExpression(parent) &&
        /^(\|\||\?\?)$/.test(parent.getOperatorToken().getText()) &&
        parent.getRight() === returned;
    if (!isBranch && !Node.isParenthesizedExpression(parent)) break;
    returned = parent;
  }
  const owner = returned.getFirstAncestor((node) => Node.isFunctionLikeDeclaration(node));
  return Node.isReturnStatement(returned.getParent()) && owner === member ? value : undefined;
}

function migrateDenial(source: Source, member: Member): void {
  const detail = Node.isMethodDeclaration(member) ? member.getParameters()[1] : undefined;
  const uses = detail ? usesOf(member, detail) : [];
  const isPlain = Node.isMethodDeclaration(member) && uses.every((use) => use !== undefined);
  const callsThrottler = /super\.throwThrottlingException|(super|this)\.getErrorMessage/;
  if (!isPlain || callsThrottler.test(member.getText()))
    return source.mark(member, 'throwThrottlingException: write deny(context, decision)');
  const isThrown =
    Node.isThrowStatement(member.getStatements().at(-1)) &&
    member.getDescendantsOfKind(SyntaxKind.ReturnStatement).length === 0;
  if (!isThrown) return source.mark(member, `throwThrottlingException: ${NOT_THROWN}`);
  for (const use of uses) use.replaceWithText(DETAILS[use.getName()]!);
  const context = member.getParameters()[0]?.getName() ?? '_context';
  for (const parameter of member.getParameters()) parameter.remove();
  member.addParameter({ name: context, type: source.need('ExecutionContext', '@nestjs/common') });
  if (uses.length > 0) member.addParameter({ name: 'decision', type: source.need('Decision') });
  member.getNameNode().replaceWithText('deny');
  override(member);
}

/** Returns where the detail of a denial is read; `undefined` for a use that has no counterpart. */
function usesOf(member: Node, detail: TsMorph.ParameterDeclaration) {
  return member
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .filter((each) => each.getText() === detail.getName() && each.getParent() !== detail)
    .map((each) => {
      const parent = each.getParent();
      const isRead = Node.isPropertyAccessExpression(parent) && Object.hasOwn(DETAILS, parent.getName());
      return isRead ? parent : undefined;
    });
}

function override(member: Member): void {
  const it = member as TsMorph.MethodDeclaration;
  it.setScope('protected' as TsMorph.Scope);
  it.setHasOverrideKeyword(true);
}

/** `throw new ThrottlerException(message)` is an HttpException; elsewhere the class is that of a denial. */
function migrateExceptions(source: Source): void {
  const { file } = source;
  const name = source.localName('ThrottlerException');
  if (name === undefined) return;
  for (const each of file.getDescendantsOfKind(SyntaxKind.NewExpression)) {
    if (each.wasForgotten() || each.getExpression().getText() !== name) continue;
    const message = each.getArguments()[0]?.getText() ?? "'ThrottlerException: Too Many Requests'";
    each.replaceWithText(`new ${source.need('HttpException', '@nestjs/common')}(${message}, 429)`);
  }
  for (const each of source.usesOf(name)) {
    source.leave(
      each,
      `${name}: is RateLimitExceededException now; set registerFilter: false if your filter sends the response`,
    );
    each.replaceWithText(source.need('RateLimitExceededException'));
  }
}
