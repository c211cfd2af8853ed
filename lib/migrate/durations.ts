import type * as TsMorph from 'ts-morph';
import type { Source } from './source.js';

const HELPERS: Readonly<Record<string, number>> = {
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** Returns the source of a duration for milliseconds: `'1m'` for `60_000` and for `minutes(1)`. */
export function durationFor(source: Source, value: TsMorph.Node): string {
  const milliseconds = constantOf(source, value);
  if (milliseconds !== undefined) return `'${textOf(milliseconds)}'`;
  const text = withoutHelpers(source, value);
  if (value.getType().getCallSignatures().length === 0) return `\`\${${text}}ms\``;
  const isAsync = value.getType().getCallSignatures()[0]!.getReturnType().getText().startsWith('Promise');
  const call = `(${text})(${value.getType().getCallSignatures()[0]!.getParameters().length > 0 ? 'context' : ''})`;
  return `${isAsync ? 'async ' : ''}(context) => \`\${${isAsync ? 'await ' : ''}${call}}ms\` as const`;
}

/** Returns the largest unit that divides a number of milliseconds. */
function textOf(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds % length === 0);
  return unit && milliseconds > 0 ? `${milliseconds / unit[1]}${unit[0]}` : `${Math.ceil(milliseconds)}ms`;
}

/** Returns the value of arithmetic on literals; `undefined` for anything else. */
function constantOf(source: Source, node: TsMorph.Node): number | undefined {
  const { Node } = source.m;
  if (Node.isNumericLiteral(node)) return node.getLiteralValue();
  if (Node.isParenthesizedExpression(node) || Node.isAsExpression(node))
    return constantOf(source, node.getExpression());
  if (Node.isBinaryExpression(node)) {
    const [left, right] = [constantOf(source, node.getLeft()), constantOf(source, node.getRight())];
    if (left === undefined || right === undefined) return undefined;
    return { '*': left * right, '+': left + right, '-': left - right, '/': left / right }[
      node.getOperatorToken().getText()
    ];
  }
  if (!Node.isCallExpression(node)) return undefined;
  const helper = Object.keys(HELPERS).find((name) => source.is(node.getExpression(), name));
  const count = helper && node.getArguments()[0] && constantOf(source, node.getArguments()[0]!);
  return typeof count === 'number' ? count * HELPERS[helper!]! : undefined;
}

/** Returns the source of a value with `minutes(n)` written as `(n) * 60000`, since the helpers are throttler's. */
function withoutHelpers(source: Source, value: TsMorph.Node): string {
  let text = value.getText();
  for (const [name, length] of Object.entries(HELPERS)) {
    const local = source.localName(name);
    if (local) text = text.replace(new RegExp(`\\b${local}\\(([^()]*)\\)`, 'g'), `($1) * ${length}`);
  }
  return text;
}
