import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { ofProcess } from '../contracts/entry-of.js';
import type { Cost } from '../rules/compiled-rule.js';

/** The metadata of methods with `@Settle()`: the type of the index of its parameter. */
export const SETTLEMENTS = Symbol.for('nestjs-redis-rate-limit:settlements');

/** What settles a request by hand. */
interface ByHand {
  settle(actual: Cost): void;
}

/** What settles each request, by what its guard and its interceptors have in common. */
export const settlements = ofProcess('settlements', () => new WeakMap<object, ByHand>());

const settler = createParamDecorator((_data: undefined, context: ExecutionContext) => {
  const settlement = settlements.get(context.getArgByIndex<object>(1));
  return (actual: Cost): void => settlement?.settle(actual);
});

/**
 * Parameter decorator: a function that states the real cost of the request, for a handler that sends its response itself
 * (`@Res()`) under rules with `settle`. It takes the permits of each of these rules, or permits by rule name; the last call
 * before the response and the handler have ended counts, instead of what the `settle` of the rule returns. On other
 * handlers it stops the application at start.
 *
 * @example
 * `@Get() stream(@Res() response: Response, @Settle() settle: (cost: number) => void) { ... settle(1_200); }`
 */
export function Settle(): ParameterDecorator {
  return marked(SETTLEMENTS, settler());
}

/** A parameter decorator, and metadata of its method: the type of the index of the parameter. */
function marked(key: symbol, decorate: ParameterDecorator): ParameterDecorator {
  return (target, name, index) => {
    decorate(target, name, index);
    Reflect.defineMetadata(key, typeof index, target, name!);
  };
}

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
