import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { ofProcess } from '../contracts/of-process.js';

/** @internal */
export const usage = ofProcess('usage', () => ({
  /** Whether any handler reads its usage: without one, nothing is recorded. */
  isRead: false,
  /** The decisions on requests, by what a handler and the guard have in common. */
  decisions: new WeakMap<object, Decision>(),
}));

const read = createParamDecorator((_data: undefined, context: ExecutionContext): readonly RuleDecision[] => {
  const request = requestOf(context);
  return (request && usage.decisions.get(request)?.decisions) ?? [];
});

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
  return read();
}

/**
 * Records the decision on a request.
 *
 * @internal
 */
export function recordUsage(context: ExecutionContext, decision: Decision): void {
  const request = requestOf(context);
  if (request) usage.decisions.set(request, decision);
}

/** An argument of a handler that no other request has. */
function requestOf(context: ExecutionContext): object | undefined {
  const index = { http: 0, graphql: 3 }[context.getType<string>()] ?? 1;
  const request: unknown = context.getArgByIndex(index);
  return typeof request === 'object' && request !== null ? request : undefined;
}
