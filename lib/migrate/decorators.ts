import type * as TsMorph from 'ts-morph';
import { objectAt } from './constants.js';
import { MARK, type Source, textOf } from './source.js';
import { fieldsOf, objectOf, valuesOf } from './rules.js';
import { isMetadataKey } from './throttlers.js';
import { Node, SyntaxKind, type Values } from './ts-morph.js';

/** The options of a throttler that `@Throttle` reads; it ignores others, such as `skipIf`. */
const READ = ['limit', 'ttl', 'blockDuration', 'getTracker', 'generateKey'];

const BY_HAND = 'write @RateLimit, one for each throttler';

/** Rewrites `@Throttle` and `@SkipThrottle`, also where a function composes decorators. */
export function migrateDecorators(source: Source): void {
  const { file } = source;
  for (const call of file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    if (call.wasForgotten()) continue;
    const name = call.getExpression();
    const isThrottle = source.is(name, 'Throttle');
    if (!isThrottle && !source.is(name, 'SkipThrottle')) continue;
    const calls = isThrottle ? throttle(source, call) : skip(source, call);
    const decorator = call.getParentIfKind(SyntaxKind.Decorator);
    if (typeof calls === 'string') source.mark(decorator ?? call, calls);
    else if (decorator) replace(decorator, calls);
    else if (calls.length === 1 || isListed(call)) call.replaceWithText(calls.join(', '));
    else call.replaceWithText(`${source.need('applyDecorators', '@nestjs/common')}(${calls.join(', ')})`);
  }
  for (const each of file.getDescendants()) {
    if (each.wasForgotten() || each.getFirstAncestorByKind(SyntaxKind.ImportDeclaration)) continue;
    const isKey = isMetadataKey(each);
    const isName = Node.isIdentifier(each);
    if (!isKey && !(isName && ['Throttle', 'SkipThrottle'].some((name) => source.is(each, name)))) continue;
    if (each.getFirstAncestor((node) => node.getText().startsWith(`${MARK}(`))) continue;
    const what = isKey ? "a key of throttler's metadata" : 'a decorator of throttler that is not called here';
    source.mark(each, `${what}; ${BY_HAND}`);
  }
}

function replace(decorator: TsMorph.Decorator, [first, ...others]: readonly string[]): void {
  const place = decorator.getParentOrThrow() as TsMorph.ClassDeclaration;
  const index = place.getDecorators().indexOf(decorator) + 1;
  decorator.replaceWithText(`@${first}`);
  const parts = others.map((each) => /^(\w+)\((.*)\)$/s.exec(each)!);
  place.insertDecorators(
    index,
    parts.map(([, name, text]) => ({ name: name!, arguments: [text!] })),
  );
}

/** Whether a call is an argument or an element, beside which there may be others. */
function isListed(call: TsMorph.CallExpression): boolean {
  const parent = call.getParent();
  if (Node.isArrayLiteralExpression(parent)) return true;
  return Node.isCallExpression(parent) && parent.getExpression() !== call;
}

/** Returns one `RateLimit` for each throttler, or why it is left alone. */
function throttle(source: Source, call: TsMorph.CallExpression): string[] | string {
  const [options, ttl] = call.getArguments();
  if (options && ttl) {
    source.leave(call, '@Throttle(limit, ttl) of throttler 4: its ttl is in seconds; taken as that');
    const seconds = source.valueOf(ttl);
    return typeof seconds === 'number'
      ? [rateLimit(source, [`limit: ${options.getText()}`, `window: '${textOf(seconds * 1000)}'`])]
      : `@Throttle: its ttl is no constant; ${BY_HAND}`;
  }
  const values = literalOf(source, options);
  const entries = [...(values ?? [])].map(([name, each]) => [name, literalOf(source, each)] as const);
  if (!values || entries.some(([, each]) => each === undefined)) {
    return `@Throttle: its argument is no literal, or has a name that is no constant; ${BY_HAND}`;
  }
  return (
    wrongName(source, [...values.keys()], 'limited') ??
    entries.map(([name, each]) => {
      const read = new Map([...each!].filter(([field]) => READ.includes(field)));
      return rateLimit(source, [...named(name), ...fieldsOf(source, read)]);
    })
  );
}

/** Returns the values of an object literal, or of a constant that is one and reads no other name. */
function literalOf(source: Source, node: Node | undefined): Values | undefined {
  const object = objectAt(node);
  if (!object) return undefined;
  const isAlone = object
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .every((each) => Node.isPropertyAssignment(each.getParent()) || source.helperOf(each) !== undefined);
  return object === node || isAlone ? valuesOf(source, object) : undefined;
}

/** Returns a `SkipRateLimit` for the names that are skipped, and a `RateLimit` for those that no longer are. */
function skip(source: Source, call: TsMorph.CallExpression): string[] | string {
  const [options] = call.getArguments();
  if (!options)
    return wrongName(source, ['default'], 'skipped') ?? [`${source.need('SkipRateLimit')}('default')`];
  const values = literalOf(source, options);
  const flags = [...(values ?? [])].map(([name, value]) => [name, source.valueOf(value)] as const);
  if (!values || flags.some(([, flag]) => typeof flag !== 'boolean')) {
    return '@SkipThrottle: its argument is no literal; write @SkipRateLimit with the names';
  }
  const wrong = wrongName(source, [...values.keys()], 'skipped');
  if (wrong) return wrong;
  const skipped = flags.filter(([, flag]) => flag).map(([name]) => `'${name}'`);
  const limited = flags.filter(([, flag]) => !flag).map(([name]) => name);
  return [
    ...(skipped.length > 0 ? [`${source.need('SkipRateLimit')}(${skipped.join(', ')})`] : []),
    ...limited.map((name) => rateLimit(source, named(name))),
  ];
}

/** Returns why a decorator has no effect: it names no throttler. */
function wrongName({ application }: Source, names: readonly string[], verb: string): string | undefined {
  const decorator = verb === 'limited' ? '@Throttle' : '@SkipThrottle';
  const wrong = names.find((name) => application.names?.has(name) === false);
  if (wrong !== undefined)
    return `${decorator}: no throttler has the name "${wrong}", so it ${verb} nothing; remove it, or add the rule`;
  return names.length === 0
    ? `${decorator}: names no throttler, so it ${verb} nothing; remove it`
    : undefined;
}

function named(name: string): string[] {
  return name === 'default' ? [] : [`name: '${name}'`];
}

function rateLimit(source: Source, fields: readonly string[]): string {
  return `${source.need('RateLimit')}(${objectOf(fields)})`;
}
