import type { AlgorithmDefinition, Quota, Variant } from '../../lib/algorithms/definition.js';
import type { MaxWait, Receipt, Step } from '../../lib/contracts/algorithm.js';
import { toMicroseconds } from '../../lib/contracts/clock.js';
import { toMilliseconds } from '../../lib/limiter/decision.js';
import type { DecideOptions } from './timeline.js';

type Serving<Options extends object, State, Parameter extends string> = Variant<Options, State, Parameter>;

/**
 * One key of an algorithm's reference implementation, with its state, as in a store. Instants are in microseconds.
 */
export class Reference<Options extends object, State, Parameter extends string> {
  state: State | undefined;
  private readonly algorithm: Serving<Options, State, Parameter>;
  private parametersAt: (now: number) => Readonly<Record<Parameter, number>>;
  private leases = 0;

  /** @param parameters those that differ from the rule: durations of less than a millisecond */
  constructor(
    definition: AlgorithmDefinition<Options, State, Parameter>,
    rule: Quota & Options,
    private readonly parameters: Partial<Readonly<Record<Parameter, number>>> = {},
  ) {
    // The algorithm that evaluates the rule defines the state and the parameters.
    this.algorithm = (definition.resolve?.(rule) ?? definition) as Serving<Options, State, Parameter>;
    this.parametersAt = this.compile(rule);
  }

  /** Replaces the rule, as after a live change. */
  change(rule: Quota & Options): void {
    this.parametersAt = this.compile(rule);
  }

  peek(now: number, cost: number, maxWait: MaxWait = 0): Step<State> {
    return this.algorithm.step(this.state, now, cost, this.parametersAt(now), maxWait, this.lease);
  }

  /** Decides, and charges if allowed; otherwise keeps a state that was moved since the clock was set back. */
  hit(now: number, cost: number, maxWait: MaxWait = 0): Step<State> {
    const step = this.peek(now, cost, maxWait);
    if (step.allowed && cost > 0) this.state = step.state;
    else if (this.state !== undefined && this.algorithm.isAhead?.(this.state, now, this.parametersAt(now))) {
      const moved = this.peek(now, 0);
      if (moved.allowed) this.state = moved.state;
    }
    this.leases++;
    return step;
  }

  /**
   * Refunds permits of a charge.
   *
   * @returns whether there was a charge to refund
   */
  refund(now: number, cost: number, receipt: Receipt, onlyLast = false): boolean {
    if (this.state === undefined) return false;
    const next = this.algorithm.refund(this.state, now, cost, this.parametersAt(now), receipt, onlyLast);
    if (next) this.state = next.state;
    return next !== undefined;
  }

  /** Renews a lease. Returns whether it still existed. */
  renew(now: number, lease: string): boolean {
    if (this.state === undefined) return false;
    const next = this.algorithm.renew?.(this.state, now, this.parametersAt(now), lease);
    if (next) this.state = next.state;
    return next !== undefined;
  }

  /** The name of the next hit's lease, if the algorithm has leases. */
  get lease(): string {
    return `lease-${this.leases}`;
  }

  /** Returns the function that timelines call: its times are milliseconds since an instant, given in milliseconds. */
  since(start: number): DecideOptions {
    return (at, cost) => {
      const { allowed, remaining, retryAfter, resetAfter } = this.hit(toMicroseconds(start + at), cost);
      const retryAfterMs = retryAfter === null ? null : toMilliseconds(retryAfter);
      return { allowed, remaining, retryAfterMs, resetAfterMs: toMilliseconds(resetAfter) };
    };
  }

  private compile(rule: Quota & Options): (now: number) => Readonly<Record<Parameter, number>> {
    const parameters = { ...this.algorithm.compile(rule), ...this.parameters };
    return this.algorithm.compileAt?.(rule) ?? (() => parameters);
  }
}
