import type { Step } from '../../lib/contracts/algorithm.js';
import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import { newRecord } from '../../lib/simulate/clients.js';
import { parametersOf, stateAt, stepOf } from '../../lib/rules/replay.js';

/** When the virtual time begins, in microseconds since the epoch: a whole hour, at which windows by the clock begin. */
export const START = Date.UTC(2030, 0, 1, 12) * 1000;

/** A subject without state under one rule, decided as by the memory store. Times are in microseconds since the start. */
export class Subject {
  private readonly record = newRecord();
  /** Permits that are released when their request ends, the earliest first. */
  private readonly held: { readonly lease: string; readonly until: number }[] = [];
  private requests = 0;

  /** @param holds how long a request holds its permits, if the algorithm has leases */
  constructor(
    private readonly rule: CompiledRule,
    private readonly holds: number,
  ) {}

  /** Decides a request; `undefined` if the subject is blocked. Times never go back. */
  request(at: number): Step<unknown> | undefined {
    this.release(at);
    const lease = `request ${(this.requests += 1)}`;
    const step = stepOf(this.rule, this.record, START + at, lease);
    if (step?.allowed && this.rule.algorithm.leases) this.held.push({ lease, until: at + this.holds });
    return step;
  }

  /** Returns what the store holds, and what a request without cost would get. */
  look(at: number): { readonly state: unknown; readonly remaining: number; readonly resetAfter: number } {
    this.release(at);
    const { rule, record } = this;
    const now = START + at;
    const state = stateAt(record, now);
    const { remaining, resetAfter } = rule.algorithm.step(state, now, 0, parametersOf(rule, now));
    return { state, remaining: this.blockedFor(at) > 0 ? 0 : remaining, resetAfter };
  }

  /** Returns for how long the subject is still blocked; 0 if it is not. */
  blockedFor(at: number): number {
    return Math.max(0, this.record.blockedUntil - START - at);
  }

  private release(at: number): void {
    const { rule, record, held } = this;
    while (held[0] && held[0].until <= at) {
      const { lease, until } = held.shift()!;
      const now = START + until;
      if (record.state === undefined) continue;
      const next = rule.algorithm.refund(record.state, now, rule.cost, parametersOf(rule, now), lease, false);
      if (!next) continue;
      record.state = next.state;
      record.expiresAt = now + next.expiresAfter;
    }
  }
}
