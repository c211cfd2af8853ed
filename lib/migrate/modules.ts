import type * as TsMorph from 'ts-morph';
import { byHand, fieldsOf, objectOf, textOf, valuesOf } from './rules.js';
import type { Source } from './source.js';
import { Node, SyntaxKind, type Values } from './ts-morph.js';
import { isTest } from './constants.js';

/** Both are `skipIf` of a rule, which replaces that of `defaults`. */
const SKIPS = ['skipIf', 'ignoreUserAgents'];

const NO_LITERAL =
  'the options are not a literal with `throttlers`, each a literal; write `rules` of RateLimitModule, with `registerGuard: false`';

const SEVERAL =
  'several calls configure throttler; give the folder of one application, or write the rules of RateLimitModule, with `registerGuard: false`';

const STORAGES =
  /^Throttler(Storage)?Redis(Service|Storage)?$|^RedisThrottlerStorage$|^ThrottlerStorageRedisService$/;

/** Rewrites `ThrottlerModule.forRoot` and `forRootAsync`, and classes with `createThrottlerOptions`. */
export function migrateModules(source: Source): void {
  const { file } = source;
  for (const call of file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    if (call.wasForgotten()) continue;
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee) || !source.is(callee.getExpression(), 'ThrottlerModule'))
      continue;
    if (source.application.roots > 1 && !isTest(file)) source.mark(call, SEVERAL);
    else if (callee.getName() === 'forRoot') migrateRoot(source, call);
    else migrateAsync(source, call);
  }
  for (const each of file.getDescendantsOfKind(SyntaxKind.Identifier)) {
    const property = each.getParent()?.getParentIfKind(SyntaxKind.PropertyAssignment);
    if (property?.getName() === 'exports' && source.is(each, 'ThrottlerModule'))
      each.replaceWithText(source.need('RateLimitModule'));
  }
  for (const method of file.getDescendantsOfKind(SyntaxKind.MethodDeclaration)) {
    if (method.wasForgotten() || method.getName() !== 'createThrottlerOptions') continue;
    if (!migrateFactory(source, method)) continue;
    method.rename('createRateLimitOptions');
    method.removeReturnType();
    const type = method.getParentIfKind(SyntaxKind.ClassDeclaration);
    for (const each of type?.getImplements() ?? [])
      if (source.is(each.getExpression(), 'ThrottlerOptionsFactory')) type!.removeImplements(each);
  }
}

function migrateRoot(source: Source, call: TsMorph.CallExpression): void {
  const [options] = call.getArguments();
  const text = options ? optionsOf(source, options) : ["headers: 'throttler'", "body: 'nest'"];
  if (!text) return source.mark(call, NO_LITERAL);
  call.replaceWithText(
    `${source.need('RateLimitModule')}.forRoot(${objectOf([...text, 'registerGuard: false'])})`,
  );
}

function migrateAsync(source: Source, call: TsMorph.CallExpression): void {
  const [options] = call.getArguments();
  const values = valuesOf(source, options);
  if (!values) return source.mark(call, 'forRootAsync: its argument is no object literal');
  const factory = values.get('useFactory');
  if (factory && !migrateFactory(source, factory)) return;
  (options as TsMorph.ObjectLiteralExpression).addPropertyAssignment({
    name: 'registerGuard',
    initializer: 'false',
  });
  call.setExpression(`${source.need('RateLimitModule')}.forRootAsync`);
}

/** Rewrites the options that a function returns. */
function migrateFactory(source: Source, factory: Node): boolean {
  const returned = returnedBy(factory);
  const found = returned.map((each) => ({ each, options: optionsOf(source, each) }));
  if (found.length === 0 || found.some(({ options }) => !options)) {
    const why = 'the factory returns no literal; write its options as those of RateLimitModule';
    for (const each of returned) source.mark(each, why);
    if (returned.length === 0 && !Node.isMethodDeclaration(factory)) source.mark(factory, why);
    return false;
  }
  for (const { each, options } of found) {
    const needsParentheses = Node.isArrowFunction(each.getParent());
    each.replaceWithText(needsParentheses ? `(${objectOf(options!)})` : objectOf(options!));
  }
  if (Node.isArrowFunction(factory) && factory.getReturnTypeNode()) factory.removeReturnType();
  return true;
}

/** Returns the expressions that a function returns. */
function returnedBy(factory: Node): Node[] {
  if (Node.isArrowFunction(factory) && !Node.isBlock(factory.getBody())) {
    const body = factory.getBody();
    return [Node.isParenthesizedExpression(body) ? body.getExpression() : body];
  }
  return factory
    .getDescendantsOfKind(SyntaxKind.ReturnStatement)
    .filter((each) => each.getFirstAncestor((node) => Node.isFunctionLikeDeclaration(node)) === factory)
    .flatMap((each) => each.getExpression() ?? []);
}

/** Returns the options of RateLimitModule for those of ThrottlerModule; `undefined` if they are left alone. */
function optionsOf(source: Source, given: Node): string[] | undefined {
  if (Node.isArrayLiteralExpression(given)) return withRules(source, given, new Map());
  const values = valuesOf(source, given);
  const throttlers = values?.get('throttlers');
  return values && Node.isArrayLiteralExpression(throttlers)
    ? withRules(source, throttlers, values)
    : undefined;
}

function withRules(source: Source, throttlers: TsMorph.ArrayLiteralExpression, values: Values) {
  const rules = new Map<string, string>();
  const skips = [...values].filter(([name]) => SKIPS.includes(name));
  const switches: (Node | undefined)[] = [values.get('setHeaders')];
  for (const each of throttlers.getElements()) {
    const options = valuesOf(source, each);
    if (!options) return undefined;
    const name = options.get('name');
    const known = name === undefined ? 'default' : source.valueOf(name);
    const key = typeof known === 'string' ? keyOf(known) : `[${name!.getText()}]`;
    if (rules.has(key)) return undefined;
    const inherited = SKIPS.some((field) => options.has(field)) ? skips : [];
    rules.set(key, `${key}: ${objectOf(fieldsOf(source, new Map([...inherited, ...options])))}`);
    switches.push(options.get('setHeaders'));
  }
  const options: string[] = [];
  const redis = redisOf(source, values.get('storage'));
  if (redis) options.push(`redis: ${redis}`);
  options.push(`rules: ${objectOf([...rules.values()])}`);
  const defaults = fieldsOf(source, values);
  if (defaults.length > 0) options.push(`defaults: ${objectOf(defaults)}`);
  options.push(headersOf(source, switches), bodyOf(source, values.get('errorMessage')));
  return options;
}

function headersOf(source: Source, switches: readonly (Node | undefined)[]): string {
  const given = switches.filter((each) => each !== undefined);
  const unknown = given.find((each) => typeof source.valueOf(each) !== 'boolean');
  if (unknown) return `headers: ${byHand(source, unknown, "setHeaders: write 'throttler' or false")}`;
  return given.every((each) => source.valueOf(each)) ? "headers: 'throttler'" : 'headers: false';
}

function redisOf(source: Source, storage: Node | undefined): string | undefined {
  if (!storage) return undefined;
  const isOurs = Node.isNewExpression(storage) && STORAGES.test(storage.getExpression().getText());
  if (isOurs) return storage.getArguments()[0]?.getText() ?? "'redis://localhost:6379'";
  return byHand(source, storage, 'storage: write `redis` with the URL, the ioredis options or the client');
}

function bodyOf(source: Source, message: Node | undefined): string {
  if (!message) return "body: 'nest'";
  if (Node.isStringLiteral(message) || Node.isNoSubstitutionTemplateLiteral(message)) {
    return `body: () => ({ statusCode: 429, message: ${message.getText()} })`;
  }
  const isFunction = Node.isArrowFunction(message) || Node.isMethodDeclaration(message);
  if (isFunction && message.getParameters().length <= 1) {
    const given = message.getParameters().length === 1 ? 'context' : '';
    return `body: (_decision, context) => ({ statusCode: 429, message: (${textOf(message)})(${given}) })`;
  }
  const why = 'errorMessage: write body: (decision, context) => ({ statusCode: 429, message: ... })';
  return `body: ${byHand(source, message, why)}`;
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
