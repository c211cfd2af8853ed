import type { AlgorithmDefinition, Quota } from '../../lib/algorithms/definition.js';
import type { Step } from '../../lib/contracts/algorithm.js';
import { toMicroseconds, toMilliseconds } from '../../lib/contracts/clock.js';
import type { Ask } from './timeline.js';

/**
 * One key of an algorithm's twin, whose state it keeps between hits as a store would.
 *
 * Instants are microseconds.
 */
export class Twin<Options extends object, State, Parameter extends string> {
  state: State | undefined;
  private parameters: Readonly<Record<Parameter, number>>;

  constructor(
    private readonly algorithm: AlgorithmDefinition<Options, State, Parameter>,
    rule: Quota & Options,
  ) {
    this.parameters = algorithm.compile(rule);
  }

  /** From now on the rule is another, as after a live change. */
  change(rule: Quota & Options): void {
    this.parameters = this.algorithm.compile(rule);
  }

  peek(now: number, cost: number): Step<State> {
    return this.algorithm.step(this.state, now, cost, this.parameters);
  }

  /** Asks, and charges if allowed. */
  hit(now: number, cost: number): Step<State> {
    const step = this.peek(now, cost);
    if (step.allowed && cost > 0) this.state = step.state;
    return step;
  }

  /** The twin as a timeline asks it: in milliseconds since an instant, given in milliseconds. */
  since(start: number): Ask {
    return (at, cost) => {
      const { allowed, remaining, retryAfter, resetAfter } = this.hit(toMicroseconds(start + at), cost);
      const retryAfterMs = retryAfter === null ? null : toMilliseconds(retryAfter);
      return { allowed, remaining, retryAfterMs, resetAfterMs: toMilliseconds(resetAfter) };
    };
  }
}
