import type { Parameters, Receipt, Step } from '../contracts/algorithm.js';
import type { CompiledRule } from '../rules/compiled-rule.js';

/** A charge that is refunded, or released, at a known instant. */
interface Charge {
  readonly rule: CompiledRule;
  readonly cost: number;
  readonly receipt: Receipt;
  readonly until: number;
}

/**
 * The counter of a subject in a replay: decides as the memory store does, by the reference implementations of the
 * algorithms. Times are in microseconds since the epoch, and never go back.
 */
export class ReplayedCounter {
  /** Number of denied requests. */
  denied = 0;
  private state: unknown;
  private expiresAt = 0;
  private blockedUntil = 0;
  /** The charges that are refunded later, the earliest first. */
  private readonly charges: Charge[] = [];
  private leases = 0;

  /**
   * Decides a request. Returns `undefined` if the subject is blocked.
   *
   * @param until when the permits are refunded, or released; absent if they are not
   */
  decide(rule: CompiledRule, now: number, until?: number, cost = rule.cost): Step<unknown> | undefined {
    const step = this.blockedFor(now) > 0 ? undefined : this.step(rule, now, until, cost);
    if (!step?.allowed) this.denied += 1;
    return step;
  }

  /** Returns the state, and the result of a request without cost. */
  peek(rule: CompiledRule, now: number): { readonly state: unknown; readonly step: Step<unknown> } {
    this.refundUntil(now);
    const state = this.stateAt(now);
    return { state, step: rule.algorithm.step(state, now, 0, parametersOf(rule, now)) };
  }

  /** Returns for how long the subject is still blocked; 0 if it is not. */
  blockedFor(now: number): number {
    return Math.max(0, this.blockedUntil - now);
  }

  /** Returns the size of the state, an integer from 0, and deletes the state if it has expired. */
  measure({ algorithm }: CompiledRule, now: number): number {
    this.state = this.stateAt(now);
    return this.state === undefined ? 0 : (algorithm.sizeOf?.(this.state) ?? 1);
  }

  private step(rule: CompiledRule, now: number, until: number | undefined, cost: number): Step<unknown> {
    this.refundUntil(now);
    const lease = rule.algorithm.leases ? `${(this.leases += 1)}` : undefined;
    const step = rule.algorithm.step(this.stateAt(now), now, cost, parametersOf(rule, now), 0, lease);
    if (step.allowed) {
      if (cost > 0) this.store(step, now);
      if (until !== undefined) this.hold({ rule, cost, receipt: lease ?? now + step.resetAfter, until });
    } else if (rule.block !== undefined && cost > 0 && step.retryAfter !== null) {
      this.blockedUntil = now + rule.block;
    }
    return step;
  }

  private hold(charge: Charge): void {
    const before = this.charges.findLastIndex(({ until }) => until <= charge.until);
    this.charges.splice(before + 1, 0, charge);
  }

  private refundUntil(now: number): void {
    while (this.charges.length > 0 && this.charges[0]!.until <= now) {
      const { rule, cost, receipt, until } = this.charges.shift()!;
      const state = this.stateAt(until);
      if (state === undefined) continue;
      const next = rule.algorithm.refund(state, until, cost, parametersOf(rule, until), receipt, false);
      if (next) this.store(next, until);
    }
  }

  private store(next: { readonly state: unknown; readonly expiresAfter: number }, now: number): void {
    this.state = next.state;
    this.expiresAt = now + next.expiresAfter;
  }

  private stateAt(now: number): unknown {
    return this.expiresAt > now ? this.state : undefined;
  }
}

function parametersOf({ parameters, parametersAt }: CompiledRule, now: number): Parameters {
  return parametersAt === undefined ? parameters : parametersAt(now / 1000);
}
