import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ofProcess } from '../contracts/of-process.js';
import type { Cost } from '../rules/compiled-rule.js';

/** The metadata of methods with `@Settle()`: the type of the index of its parameter. */
export const SETTLEMENTS = Symbol.for('nestjs-redis-rate-limit:settlements');

/** What settles a request by hand. */
interface ByHand {
  settle(actual: Cost): void;
}

/** What settles each request, by what its guard and its interceptors have in common. */
export const settlements = ofProcess('settlements', () => new WeakMap<object, ByHand>());

const read = createParamDecorator((_data: undefined, context: ExecutionContext) => {
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
  return marked(SETTLEMENTS, read());
}

/** A parameter decorator, and metadata of its method: the type of the index of the parameter. */
export function marked(key: symbol, decorate: ParameterDecorator): ParameterDecorator {
  return (target, name, index) => {
    decorate(target, name, index);
    Reflect.defineMetadata(key, typeof index, target, name!);
  };
}
