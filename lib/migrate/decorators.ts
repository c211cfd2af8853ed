import type * as TsMorph from 'ts-morph';
import { durationFor } from './durations.js';
import { fieldsOf, valuesOf } from './rules.js';
import type { Source } from './source.js';

/** Rewrites `@Throttle` and `@SkipThrottle`. */
export function migrateDecorators(source: Source): void {
  const { m, file } = source;
  for (const decorator of file.getDescendantsOfKind(m.SyntaxKind.Decorator)) {
    if (decorator.wasForgotten()) continue;
    const name = decorator.getCallExpression()?.getExpression();
    const lines = source.is(name, 'Throttle')
      ? throttle(source, decorator)
      : source.is(name, 'SkipThrottle')
        ? skip(source, decorator)
        : undefined;
    if (lines) decorator.replaceWithText(lines.join('\n'));
  }
}

/** Returns one `@RateLimit` for each throttler. */
function throttle(source: Source, decorator: TsMorph.Decorator): string[] | undefined {
  const { Node } = source.m;
  const [options, ttl] = decorator.getArguments();
  if (options && ttl) {
    source.leave(decorator, '@Throttle(limit, ttl) of throttler 4: its ttl is in seconds; taken as that');
    const window = durationFor(source, ttl).replace(/^'(\d+)ms'$/, "'$1s'");
    return /^'\d+s'$/.test(window)
      ? [rateLimit(source, [`limit: ${options.getText()}`, `window: ${window}`])]
      : undefined;
  }
  const values = Node.isObjectLiteralExpression(options) ? valuesOf(source, options) : undefined;
  const entries = [...(values ?? [])];
  const parts = entries.map(([, each]) =>
    Node.isObjectLiteralExpression(each) ? valuesOf(source, each) : undefined,
  );
  if (!values || parts.includes(undefined)) {
    source.leave(
      decorator,
      '@Throttle: its argument is no literal; write @RateLimit, one for each throttler',
    );
    return undefined;
  }
  return entries.flatMap(([name, each], index) => {
    if (source.application.names?.has(name) === false) {
      source.leave(each, `@Throttle: no throttler has the name "${name}", so it limited nothing; removed`);
      return [];
    }
    const named = name === 'default' ? [] : [`name: '${name}'`];
    return [rateLimit(source, [...named, ...fieldsOf(source, parts[index]!)])];
  });
}

/** Returns a `@SkipRateLimit` for the names that are skipped, and a `@RateLimit` for those that no longer are. */
function skip(source: Source, decorator: TsMorph.Decorator): string[] | undefined {
  const { Node } = source.m;
  const [options] = decorator.getArguments();
  if (!options) return [`@${source.need('SkipRateLimit')}('default')`];
  const values = Node.isObjectLiteralExpression(options) ? valuesOf(source, options) : undefined;
  const flags = [...(values ?? [])].map(([name, value]) => [name, value.getText()] as const);
  if (!values || flags.some(([, flag]) => flag !== 'true' && flag !== 'false')) {
    source.leave(decorator, '@SkipThrottle: its argument is no literal; write @SkipRateLimit with the names');
    return undefined;
  }
  const skipped = flags.filter(([, flag]) => flag === 'true').map(([name]) => `'${name}'`);
  const limited = flags.filter(([, flag]) => flag === 'false').map(([name]) => name);
  return [
    ...(skipped.length > 0 ? [`@${source.need('SkipRateLimit')}(${skipped.join(', ')})`] : []),
    ...limited.map((name) => rateLimit(source, name === 'default' ? [] : [`name: '${name}'`])),
  ];
}

function rateLimit(source: Source, fields: readonly string[]): string {
  return `@${source.need('RateLimit')}(${fields.length > 0 ? `{ ${fields.join(', ')} }` : '{}'})`;
}
