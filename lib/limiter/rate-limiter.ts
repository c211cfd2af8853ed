import type { Decision } from '../contracts/decision.js';
import { readOptions } from '../contracts/options.js';
import type { Duration } from '../contracts/duration.js';
import { Engine } from './engine.js';
import type { RateLimitEvents } from './events.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { SubjectValue } from '../rules/subject.js';
import {
  LIMITER_OPTIONS,
  type BlockOptions,
  type ConsumeOptions,
  type RateLimiterOptions,
  type RefundOptions,
  type WaitOptions,
} from './rate-limiter.options.js';
import type { ReserveArguments, RuleNames, Rules, SettledCost } from './operation.js';
import type { Permit } from './permit.js';
import type { ProgramOperations, Resolver } from './program-operations.js';
import type { Reservation } from './reservation.js';
import type { BlockingRule, ConcurrencyRule, Rule, AnyRule } from '../rules/rule.js';

/** The code of the operations, if `every-part.ts` has set it. It needs the engine, so it is none of its `parts`. */
export const loaded: { operations?: typeof ProgramOperations } = {};

/**
 * Limits requests, jobs or outbound calls without Nest. Several rules in one call are decided all or nothing.
 *
 * While the store cannot decide, `onStoreError` does. Call `close()` at the end, which stops the heartbeats to Redis.
 *
 * @example
 * const limiter = new RateLimiter({ store: new RedisStore({ redis: 'redis://localhost' }) });
 * const { allowed } = await limiter.consume({ window: '1m', limit: 100 }, 'ann');
 */
export class RateLimiter {
  /** @internal */
  readonly engine: Engine;
  private readonly leastInstances: number;
  /** Absent until the first operation, if the constructor was given what loads it. */
  private operations: ProgramOperations | undefined;
  private opening: Promise<ProgramOperations> | undefined;

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RateLimiterOptions);
  /** @internal */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- this one is not published
  constructor(options: RateLimiterOptions, openResolver: () => Promise<Resolver>);
  constructor(
    options: RateLimiterOptions,
    private readonly openResolver?: () => Promise<Resolver>,
  ) {
    const { fallback = new MemoryStore(), ...others } = readOptions('RateLimiter', options, LIMITER_OPTIONS);
    this.leastInstances = others.instances ?? 1;
    // The log of an application states the fallbacks of its rules, which are known only when it is ready.
    const awaitsReady = openResolver !== undefined;
    this.engine = new Engine({ ...others, awaitsReady, fallback });
    if (!openResolver && loaded.operations) this.operations = new loaded.operations(this.engine);
  }

  /** Events of this limiter, for logs and metrics. */
  get events(): RateLimitEvents {
    return this.engine.events;
  }

  /**
   * Takes permits from every rule, or from none if one of them denies.
   *
   * @param rules a rule, or several with different names; each object is checked once and cached
   * @throws RateLimitConfigError if a rule or the cost is invalid
   */
  consume<Name extends string>(
    rules: Rules<Rule<Name>>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    const { operations: known } = this; // With `run` alone, each request would allocate a closure.
    if (known && !known.resolver.load?.(rules)) return known.consume(rules, subject, options);
    return this.run(rules, (operations) => operations.consume(rules, subject, options));
  }

  /**
   * Returns the decision that `consume` or `hold` would return now, and changes no state: `remaining` is what the request
   * would leave. `usage` of RateLimitService returns what is left without a request.
   */
  peek<Name extends string>(
    rules: Rules<AnyRule<Name>>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return this.run(rules, (operations) => operations.peek(rules, subject, options));
  }

  /**
   * Takes permits for work whose cost is known only afterwards: call `settle` with the actual cost, or `cancel`. A
   * reservation that is never settled stays charged in full. Permits of `concurrency` rules are held until then.
   *
   * For several rules, it needs `cost` by rule name, or `settles`: the rule that `settle(n)` and a number in `cost`
   * concern. The other rules take their own cost.
   *
   * With `maxWait`, it also charges permits that come later, after `delayMs` of the reservation, and does not wait.
   *
   * @throws RateLimitConfigError if a rule or an option is invalid or missing, or a rule has no permits that come later
   * @example
   * const reservation = await limits.reserve(mails, tenant, { maxWait: '1m' });
   * if (reservation.allowed) await queue.add(mail, { delay: reservation.delayMs });
   */
  reserve<
    Name extends string = never,
    Listed extends string = never,
    Settled extends RuleNames<Name, Listed> = never,
  >(
    rules: AnyRule<Name> | readonly AnyRule<Listed>[],
    subject: SubjectValue,
    ...[options]: ReserveArguments<Name, Listed, Settled>
  ): Promise<Reservation<SettledCost<Name, Listed, Settled>>> {
    return this.run(rules, (operations) => operations.reserve(rules, subject, options));
  }

  /**
   * Waits for the end of a block and for permits, and takes them. Returns a denial at once if the wait would exceed
   * `maxWait`. A denial starts no block.
   *
   * With `gcra`, `token-bucket` and `leaky-bucket`, permits are charged at once and the order is that of arrival across
   * processes; an aborted wait refunds its permits if no later request was charged. With the other algorithms, permits are
   * charged at the end of the wait, and the order is that of arrival within this process.
   *
   * @throws RateLimitConfigError if the rule or an option is invalid
   * @throws the reason of `signal` if it aborts
   */
  acquire(rule: Rule, subject: SubjectValue, options?: WaitOptions): Promise<Decision> {
    return this.run(rule, (operations) => operations.acquire(rule, subject, options));
  }

  /**
   * Takes permits and holds them until they are released. Check `permit.allowed` before the work starts.
   *
   * With `maxWait`, it waits for permits that others hold, first come, first served across processes. While others wait,
   * a hold without it is denied. At most `queue` of the rule wait for one subject; further holds are denied at once.
   *
   * @throws RateLimitConfigError if the rule or an option is invalid
   * @throws the reason of `signal` if it aborts; nothing is held then
   * @example
   * await using permit = await limits.hold(reports, user, { maxWait: '10s', signal });
   */
  hold(rule: ConcurrencyRule, subject: SubjectValue, options?: WaitOptions): Promise<Permit> {
    return this.run(rule, (operations) => operations.hold(rule, subject, options));
  }

  /**
   * Blocks a subject from now for a duration: the rule denies all its requests.
   *
   * @param rule a rule with the field `block`
   * @throws RateLimitConfigError if the rule, the duration or an option is invalid
   * @throws RateLimitStoreError if Redis did not confirm it; the fallback of this process applies it, and Redis may have
   * @example
   * await limits.block('login', ip, '1h', { by: 'fraud detection', reason: 'stolen cards' });
   */
  block(
    rule: BlockingRule,
    subject: SubjectValue,
    duration: Duration,
    options?: BlockOptions,
  ): Promise<void> {
    return this.run(rule, (operations) => operations.block(rule, subject, duration, options));
  }

  /**
   * Ends the block of a subject and keeps its counters, which may deny its next request. `reset` deletes both.
   *
   * @returns whether there was a block
   * @throws RateLimitConfigError if the rule is invalid
   * @throws RateLimitStoreError if Redis did not confirm it; the fallback of this process applies it, and Redis may have
   */
  unblock(rule: BlockingRule, subject: SubjectValue): Promise<boolean> {
    return this.run(rule, (operations) => operations.unblock(rule, subject));
  }

  /**
   * Deletes the counters and blocks of a subject: its next request has the full limit, or with `share` its full part.
   *
   * @returns whether there was a counter or a block
   * @throws RateLimitConfigError if a rule is invalid
   * @throws RateLimitStoreError if Redis did not confirm it; the fallback of this process applies it, and Redis may have
   */
  reset(rules: Rules<AnyRule>, subject: SubjectValue): Promise<boolean> {
    return this.run(rules, (operations) => operations.reset(rules, subject));
  }

  /**
   * Waits until every server of the store has decided once, with the rules that are known, or has failed, at most a
   * second for the first connection. Events and `RateLimitHealth` report failures.
   */
  ready(): Promise<void> {
    return this.engine.ready();
  }

  /**
   * Refunds the permits that a decision charged, once. A charge that has expired is not refunded.
   *
   * @returns whether anything was refunded
   * @throws RateLimitConfigError if the decision is not one of a limiter, or an option is invalid
   */
  refund(decision: Decision, options?: RefundOptions): Promise<boolean> {
    return this.run([], (operations) => operations.refund(decision, options));
  }

  /** Number of processes that share the limits: the last count, at least `instances`. */
  get instanceCount(): number {
    return this.engine.pipeline?.instances.count ?? this.leastInstances;
  }

  /** The error of the last heartbeat, with which `instanceCount` may be out of date; `undefined` if it succeeded. */
  get instanceCountError(): unknown {
    return this.engine.pipeline?.instances.error;
  }

  /** Refunds prefetched permits, and stops heartbeats and renewals: held permits end with their lease. The store stays open. */
  close(): Promise<void> {
    return this.engine.close();
  }

  /** @internal Runs an operation when its code and the algorithms of its rules are loaded: at once if they are. */
  protected run<Result>(
    rules: unknown,
    operate: (operations: ProgramOperations) => Promise<Result>,
  ): Promise<Result> {
    const { operations } = this;
    if (!operations) return this.whenLoaded(() => this.run(rules, operate));
    const loading = operations.resolver.load?.(rules);
    return loading ? loading.then(() => operate(operations)) : operate(operations);
  }

  /** @internal Loads the code of the operations. */
  load(): Promise<void> {
    return this.whenLoaded(() => Promise.resolve());
  }

  /** The first operation that waits for the code puts it in place, so that no later one is run before those that wait. */
  private async whenLoaded<Result>(operate: () => Promise<Result>): Promise<Result> {
    const opening = (this.opening ??= this.open());
    opening.catch(() => (this.opening = undefined));
    const operations = await opening;
    this.operations ??= operations;
    return operate();
  }

  private async open(): Promise<ProgramOperations> {
    const { ProgramOperations: Loaded } = await import('./program-operations.js');
    return new Loaded(this.engine, await this.openResolver?.());
  }
}
