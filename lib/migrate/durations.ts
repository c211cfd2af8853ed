import type * as TsMorph from 'ts-morph';
import { HELPERS, valueOf } from './constants.js';
import type { Source } from './source.js';

const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** Returns the source of a duration for milliseconds: `'1m'` for `60_000` and for `minutes(1)`. */
export function durationFor(source: Source, value: TsMorph.Node): string {
  const isNamed = [value, ...value.getDescendants()].some((each) => isConstant(source, each));
  const milliseconds = isNamed ? undefined : valueOf(source.m, value, (node) => source.helperOf(node));
  if (typeof milliseconds === 'number') return `'${textOf(milliseconds)}'`;
  const text = withoutHelpers(source, value);
  if (value.getType().getCallSignatures().length === 0) return `\`\${${text}}ms\``;
  const isAsync = value.getType().getCallSignatures()[0]!.getReturnType().getText().startsWith('Promise');
  const call = `(${text})(${value.getType().getCallSignatures()[0]!.getParameters().length > 0 ? 'context' : ''})`;
  return `${isAsync ? 'async ' : ''}(context) => \`\${${isAsync ? 'await ' : ''}${call}}ms\` as const`;
}

/** Whether a node is the name of a constant, which stays where it is. */
function isConstant(source: Source, node: TsMorph.Node): boolean {
  return source.m.Node.isIdentifier(node) && source.helperOf(node) === undefined;
}

/** Returns the largest unit that divides a number of milliseconds. */
export function textOf(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds % length === 0);
  return unit && milliseconds > 0 ? `${milliseconds / unit[1]}${unit[0]}` : `${Math.ceil(milliseconds)}ms`;
}

/** Returns the milliseconds of a duration such as `1m`; `undefined` for another text. */
export function millisecondsIn(text: string): number | undefined {
  const [, count, name] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  const unit = UNITS.find(([each]) => each === name);
  return unit && Number(count) * unit[1];
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
