import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { ofProcess } from '../contracts/of-process.js';
import { marked } from './settle.decorator.js';

/** The metadata of methods with `@Usage()`. */
export const USAGE = Symbol.for('nestjs-redis-rate-limit:usage');

/** @internal */
export const usage = ofProcess('usage', () => ({
  /** Whether any handler reads its usage: without one, nothing is recorded. */
  isRead: false,
  /** The decisions on requests, by what a handler and the guard have in common. */
  decisions: new WeakMap<object, Decision>(),
}));

const read = createParamDecorator(
  (_data: undefined, context: ExecutionContext): readonly RuleDecision[] =>
    usage.decisions.get(requestOf(context))?.decisions ?? [],
);

/**
 * Parameter decorator: what the caller has left under each rule of the handler, after this request. It needs no call to
 * Redis, since the request was just decided. The list is empty if no rule applied, and for a WebSocket message whose data
 * is not an object.
 *
 * @example
 * `@Get('quota') quota(@Usage() usage: RuleDecision[]) { return usage; }`
 */
export function Usage(): ParameterDecorator {
  usage.isRead = true;
  return marked(USAGE, read());
}

/**
 * Records the decision on a request.
 *
 * @internal
 */
export function recordUsage(context: ExecutionContext, decision: Decision): void {
  const request = requestOf(context);
  if (Object(request) === request) usage.decisions.set(request, decision);
}

/** Returns an argument of a handler that no other request has: no object, if it is the text of a message. */
function requestOf(context: ExecutionContext): object {
  return context.getArgByIndex(context.getType<string>() === 'graphql' ? 3 : 1);
}
