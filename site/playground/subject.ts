import type { Step } from '../../lib/contracts/algorithm.js';
import { ReplayedCounter } from '../../lib/replay/counter.js';
import type { CompiledRule } from '../../lib/rules/compiled-rule.js';

/** When the virtual time begins, in microseconds since the epoch: a whole hour, at which windows by the clock begin. */
export const START = Date.UTC(2030, 0, 1, 12) * 1000;

/** A subject without state under one rule. Times are in microseconds since the start. */
export class Subject {
  private readonly counter = new ReplayedCounter();

  /** @param holds how long a request holds its permits, if the algorithm has leases */
  constructor(
    private readonly rule: CompiledRule,
    private readonly holds: number,
  ) {}

  /** Decides a request; `undefined` if the subject is blocked. Times never go back. */
  request(at: number): Step<unknown> | undefined {
    const until = this.rule.algorithm.leases ? START + at + this.holds : undefined;
    return this.counter.decide(this.rule, START + at, until);
  }

  /** Returns what the store holds, and what a request without cost would get. */
  look(at: number): { readonly state: unknown; readonly remaining: number; readonly resetAfter: number } {
    const { state, step } = this.counter.peek(this.rule, START + at);
    return { state, remaining: this.blockedFor(at) > 0 ? 0 : step.remaining, resetAfter: step.resetAfter };
  }

  /** Returns for how long the subject is still blocked; 0 if it is not. */
  blockedFor(at: number): number {
    return this.counter.blockedFor(START + at);
  }
}
