import type * as TsMorph from 'ts-morph';
import { durationFor } from './durations.js';
import type { Source } from './source.js';

const KEY_GENERATOR =
  "generateKey: a rule's counter is that of its subject (`by`) and its route; `scope: 'shared'` counts all routes together";

const REQUEST = 'context.switchToHttp().getRequest()';

/** Returns the named values of an object literal; `undefined` if it has anything else, such as a spread. */
export function valuesOf(
  source: Source,
  object: TsMorph.ObjectLiteralExpression,
): Map<string, TsMorph.Node> | undefined {
  const { Node } = source.m;
  const values = new Map<string, TsMorph.Node>();
  for (const property of object.getProperties()) {
    if (Node.isPropertyAssignment(property))
      values.set(nameOf(source, property), property.getInitializerOrThrow());
    else if (Node.isShorthandPropertyAssignment(property))
      values.set(property.getName(), property.getNameNode());
    else if (Node.isMethodDeclaration(property)) values.set(property.getName(), property);
    else return undefined;
  }
  return values;
}

function nameOf({ m }: Source, property: TsMorph.PropertyAssignment): string {
  const node = property.getNameNode();
  return m.Node.isStringLiteral(node) ? node.getLiteralText() : node.getText();
}

/** Returns the fields of a rule for the options of a throttler, as source. */
export function fieldsOf(source: Source, values: ReadonlyMap<string, TsMorph.Node>): string[] {
  const fields: string[] = [];
  const of = (name: string): TsMorph.Node | undefined => values.get(name);
  if (of('ttl')) fields.push(`window: ${durationFor(source, of('ttl')!)}`);
  if (of('limit')) fields.push(`limit: ${textOf(source, of('limit')!)}`);
  if (of('blockDuration')) {
    const block = durationFor(source, of('blockDuration')!);
    if (block.includes('=>'))
      source.leave(of('blockDuration')!, 'blockDuration: `block` of a rule is no function');
    else fields.push(`block: ${block}`);
  }
  if (of('getTracker')) fields.push(`by: ${trackerOf(source, of('getTracker')!)}`);
  const skips = [of('skipIf') && skipOf(source, of('skipIf')!), agentsOf(of('ignoreUserAgents'))].filter(
    Boolean,
  );
  if (skips.length === 1)
    fields.push(`skipIf: ${of('skipIf') ? textOf(source, of('skipIf')!) : `(context) => ${skips[0]}`}`);
  if (skips.length === 2) fields.push(`skipIf: (context) => ${skips.join(' || ')}`);
  if (of('generateKey')) {
    source.leave(of('generateKey')!, KEY_GENERATOR);
    fields.push(`/* TODO ${of('generateKey')!.getParentOrThrow().getText().replaceAll('*/', '* /')} */`);
  }
  return fields;
}

/** Returns a function expression for a method of an object literal. */
export function textOf({ m }: Source, value: TsMorph.Node): string {
  if (!m.Node.isMethodDeclaration(value)) return value.getText();
  const parameters = value.getParameters().map((each) => each.getText());
  return `${value.isAsync() ? 'async ' : ''}(${parameters.join(', ')}) => ${value.getBodyOrThrow().getText()}`;
}

function trackerOf(source: Source, tracker: TsMorph.Node): string {
  const given = [REQUEST, 'context'].slice(0, countOf(source, tracker));
  return `(context) => (${textOf(source, tracker)})(${given.join(', ')})`;
}

function skipOf(source: Source, skipIf: TsMorph.Node): string {
  return `(${textOf(source, skipIf)})(${countOf(source, skipIf) > 0 ? 'context' : ''})`;
}

function agentsOf(agents: TsMorph.Node | undefined): string | undefined {
  if (!agents) return undefined;
  return `${agents.getText()}.some((pattern) => pattern.test(${REQUEST}.headers['user-agent'] ?? ''))`;
}

/** Number of parameters of a function. */
function countOf({ m }: Source, value: TsMorph.Node): number {
  if (
    m.Node.isMethodDeclaration(value) ||
    m.Node.isArrowFunction(value) ||
    m.Node.isFunctionExpression(value)
  ) {
    return value.getParameters().length;
  }
  return value.getType().getCallSignatures()[0]?.getParameters().length ?? 2;
}
