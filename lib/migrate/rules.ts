import type * as TsMorph from 'ts-morph';
import { durationFor, type Source } from './source.js';
import { Node, type Values } from './ts-morph.js';

const KEY_GENERATOR =
  "generateKey: a rule's counter is that of its subject (`by`) and its route; `scope: 'shared'` counts all routes together";

const NO_FUNCTION = 'blockDuration: `block` of a rule is no function';

const REQUEST = 'context.switchToHttp().getRequest()';

/** Returns the named values of an object literal; `undefined` for another node, and if it has more, such as a spread. */
export function valuesOf(source: Source, object: Node | undefined): Values | undefined {
  if (!Node.isObjectLiteralExpression(object)) return undefined;
  const values = new Map<string, Node>();
  for (const property of object.getProperties()) {
    if (Node.isPropertyAssignment(property)) {
      const name = nameOf(source, property);
      if (name === undefined) return undefined;
      values.set(name, property.getInitializerOrThrow());
    } else if (Node.isShorthandPropertyAssignment(property))
      values.set(property.getName(), property.getNameNode());
    else if (Node.isMethodDeclaration(property)) values.set(property.getName(), property);
    else return undefined;
  }
  return values;
}

/** Returns the name of a property; `undefined` if it is computed from anything but constants. */
function nameOf(source: Source, property: TsMorph.PropertyAssignment): string | undefined {
  const node = property.getNameNode();
  if (Node.isIdentifier(node)) return node.getText();
  const name = source.valueOf(Node.isComputedPropertyName(node) ? node.getExpression() : node);
  return name === undefined ? undefined : String(name);
}

/** Returns the fields of a rule for the options of a throttler, as source. */
export function fieldsOf(source: Source, values: Values): string[] {
  const fields: string[] = [];
  const of = (name: string): Node | undefined => values.get(name);
  if (of('ttl')) fields.push(`window: ${durationFor(source, of('ttl')!)}`);
  if (of('limit')) fields.push(`limit: ${textOf(of('limit')!)}`);
  if (of('blockDuration')) {
    const block = durationFor(source, of('blockDuration')!);
    if (block.includes('=>')) fields.push(`block: ${byHand(source, of('blockDuration')!, NO_FUNCTION)}`);
    else fields.push(`block: ${block}`);
  }
  if (of('getTracker')) fields.push(`by: ${trackerOf(of('getTracker')!)}`);
  if (of('ipv6SubnetPrefix')) fields.push(`ipv6Prefix: ${textOf(of('ipv6SubnetPrefix')!)}`);
  const skips = [of('skipIf') && skipOf(of('skipIf')!), agentsOf(of('ignoreUserAgents'))].filter(Boolean);
  if (skips.length === 1)
    fields.push(`skipIf: ${of('skipIf') ? textOf(of('skipIf')!) : `(context) => ${skips[0]}`}`);
  if (skips.length === 2) fields.push(`skipIf: (context) => ${skips.join(' || ')}`);
  if (of('generateKey')) fields.push(`scope: ${byHand(source, of('generateKey')!, KEY_GENERATOR)}`);
  return fields;
}

/** Returns the source of an object literal. */
export function objectOf(fields: readonly string[]): string {
  return fields.length > 0 ? `{ ${fields.join(', ')} }` : '{}';
}

/** Returns an expression that does not compile, with the code that has to be changed by hand. */
export function byHand(source: Source, node: Node, why: string): string {
  source.leave(node, why);
  return source.marked(textOf(node), why);
}

/** Returns a function expression for a method of an object literal. */
export function textOf(value: Node): string {
  if (!Node.isMethodDeclaration(value)) return value.getText();
  const parameters = value.getParameters().map((each) => each.getText());
  return `${value.isAsync() ? 'async ' : ''}(${parameters.join(', ')}) => ${value.getBodyOrThrow().getText()}`;
}

function trackerOf(tracker: Node): string {
  const given = [REQUEST, 'context'].slice(0, countOf(tracker));
  return `(context) => (${textOf(tracker)})(${given.join(', ')})`;
}

function skipOf(skipIf: Node): string {
  return `(${textOf(skipIf)})(${countOf(skipIf) > 0 ? 'context' : ''})`;
}

function agentsOf(agents: Node | undefined): string | undefined {
  if (!agents) return undefined;
  return `${agents.getText()}.some((pattern) => pattern.test(${REQUEST}.headers['user-agent'] ?? ''))`;
}

/** Number of parameters of a function. */
function countOf(value: Node): number {
  return value.getType().getCallSignatures()[0]?.getParameters().length ?? 2;
}
