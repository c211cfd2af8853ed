import type { Decision } from '../contracts/decision.js';
import { AUTHORSHIP, readOptions } from '../contracts/options.js';
import { DURATION_ALLOWED, durationFix, parseDuration, type Duration } from '../contracts/duration.js';
import { Engine } from './engine.js';
import type { RateLimitEvents } from './events.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { Cost, RuleHit, CompiledRule } from '../rules/compiled-rule.js';
import type { SubjectValue } from '../rules/subject.js';
import { LIMITER_OPTIONS } from './rate-limiter.options.js';
import type {
  BlockOptions,
  ConsumeOptions,
  RateLimiterOptions,
  RefundOptions,
  WaitOptions,
} from './rate-limiter.options.js';
import {
  checkNames,
  costOf,
  namesOf,
  checkOperation,
  type MistakeLog,
  type Operation,
  type ReserveArguments,
  type RuleNames,
  type Rules,
  type SettledCost,
} from './operation.js';
import type { Permit } from './permit.js';
import type * as ProgramOperations from './program-operations.js';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { confirmed } from './rate-limit-store.error.js';
import type { Reservation } from './reservation.js';
import { RuleCache } from '../rules/rule-cache.js';
import type { BlockingRule, ConcurrencyRule, Rule, AnyRule } from '../rules/rule.js';

/**
 * A rule for the trial of the store at start, because the rules of programs are not known before their first
 * use.
 */
const TRIAL: Rule = { name: 'ready', algorithm: 'gcra', limit: 1000, window: '1s' };

/** Absent until the first of these operations. */
let operations: typeof ProgramOperations | undefined;

/** How a limiter finds the rules that programs pass, and reports their mistakes. */
export interface Resolver extends MistakeLog {
  /** Returns the hits of a subject on rules; `plain` resolves rules that are objects. */
  readonly hits: (
    operation: Operation,
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
  ) => readonly RuleHit[];
  /** Whether there is a rule of this name, which may not apply to a client. */
  readonly knows: (name: string) => boolean;
  /** Called once with each rule object. */
  readonly compiled: (rule: AnyRule, compiled: CompiledRule) => void;
}

/**
 * Limits requests, jobs or outbound calls without Nest. Several rules in one call are decided all or nothing.
 *
 * While the store cannot decide, `onStoreError` does. Call `close()` at the end: until then the limiter sends
 * heartbeats to Redis.
 *
 * @example
 * const limiter = new RateLimiter({ store: new RedisStore({ redis: 'redis://localhost' }) });
 * const { allowed } = await limiter.consume({ window: '1m', limit: 100 }, 'ann');
 */
export class RateLimiter {
  /** @internal */
  readonly engine: Engine;
  private readonly resolver: Resolver;
  private readonly leastInstances: number;
  /**
   * The rules that are objects.
   *
   * @internal
   */
  protected readonly plain = new RuleCache((compiled, rule) => {
    this.resolver.compiled(rule, compiled);
    return this.engine.keyed(compiled);
  });

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RateLimiterOptions);
  /** @internal */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- this one is not published
  constructor(options: RateLimiterOptions, resolver: Resolver);
  constructor(options: RateLimiterOptions, resolver?: Resolver) {
    const { fallback, ...others } = readOptions('RateLimiter', options, LIMITER_OPTIONS);
    this.resolver = resolver ?? plainResolver();
    this.leastInstances = others.instances ?? 1;
    // The log of an application states the fallbacks of its rules, which are known only when it is ready.
    const awaitsReady = resolver !== undefined;
    this.engine = new Engine({ ...others, awaitsReady, openFallback: () => fallback ?? new MemoryStore() });
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
    try {
      const decision = this.engine.decide(this.hits('consume', rules, subject, costOf('consume', options)));
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Returns the decision that `consume` or `hold` would return now, and changes no state: `remaining` is what the request
   * would leave. `usage` of RateLimitService returns what is left without a request.
   */
  async peek<Name extends string>(
    rules: Rules<AnyRule<Name>>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return this.engine.decide(this.hits('peek', rules, subject, costOf('peek', options)), {
      dryRun: true,
      peek: true,
    });
  }

  /**
   * Takes permits for work whose cost is known only afterwards: call `settle` with the actual cost, or `cancel`. A
   * reservation that is never settled stays charged in full. Permits of `concurrency` rules are held until then.
   *
   * For several rules, it needs `cost` by rule name, or `settles`: the rule that `settle(n)` and a number in `cost`
   * concern. The other rules take their own cost.
   *
   * With `maxWait`, also permits that are available only later, after `delayMs` of the reservation, are charged; it does
   * not wait for them.
   *
   * @throws RateLimitConfigError if a rule or an option is invalid, several rules have neither, or a rule has no
   *   permits that come later
   * @example
   * const reservation = await limits.reserve(mails, tenant, { maxWait: '1m' });
   * if (reservation.allowed) await queue.add(mail, { delay: reservation.delayMs });
   */
  async reserve<
    Name extends string = never,
    Listed extends string = never,
    Settled extends RuleNames<Name, Listed> = never,
  >(
    rules: AnyRule<Name> | readonly AnyRule<Listed>[],
    subject: SubjectValue,
    ...[options]: ReserveArguments<Name, Listed, Settled>
  ): Promise<Reservation<SettledCost<Name, Listed, Settled>>> {
    const { reserve } = (operations ??= await import('./program-operations.js'));
    return reserve(this.engine, this.resolver, options, (cost) => this.hits('reserve', rules, subject, cost));
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
  async acquire(rule: Rule, subject: SubjectValue, options?: WaitOptions): Promise<Decision> {
    const { acquire } = (operations ??= await import('./program-operations.js'));
    return acquire(this.engine, options, (cost) => this.hits('acquire', rule, subject, cost));
  }

  /**
   * Takes permits and holds them until they are released: at most `limit` at any time. Check `permit.allowed` before
   * the work starts.
   *
   * With `maxWait`, it waits for permits that others hold, first come, first served across processes. While others
   * wait, a hold without it is denied. At most `queue` of the rule wait for one subject; beyond it, the hold is
   * denied at once.
   *
   * @throws RateLimitConfigError if the rule or an option is invalid
   * @throws the reason of `signal` if it aborts; nothing is held then
   * @example
   * await using permit = await limits.hold(reports, user, { maxWait: '10s', signal });
   */
  async hold(rule: ConcurrencyRule, subject: SubjectValue, options?: WaitOptions): Promise<Permit> {
    const { hold } = (operations ??= await import('./program-operations.js'));
    return hold(this.engine, this.resolver, options, (cost) => this.hits('hold', rule, subject, cost));
  }

  /**
   * Blocks a subject from now for a duration: the rule denies all its requests.
   *
   * @param rule a rule with the field `block`
   * @throws RateLimitConfigError if the rule, the duration or an option is invalid
   * @throws RateLimitStoreError if Redis did not confirm the block; it then applies to the fallback of this process
   *   only
   * @example
   * await limits.block('login', ip, '1h', { by: 'fraud detection', reason: 'stolen cards' });
   */
  async block(
    rule: BlockingRule,
    subject: SubjectValue,
    duration: Duration,
    options?: BlockOptions,
  ): Promise<void> {
    const author = readOptions('block', options, AUTHORSHIP);
    const microseconds = parseDuration(duration);
    if (microseconds === undefined) {
      rejectValue('duration', duration, DURATION_ALLOWED, durationFix(duration));
    }
    const hits = this.hits('block', rule, subject);
    const counters = hits.filter((hit) => hit.block && hit.rule.trialOf === undefined);
    if (counters.length === 0) {
      const { name } = hits[0]!.rule;
      rejectConfig(`rule "${name}".block: missing; allowed: a duration, or "manual"`);
    }
    await this.blockHits(counters, microseconds);
    this.events.blocked(counters, microseconds / 1000, author);
  }

  /**
   * Deletes the counters and blocks of a subject: its next request has the full limit. With `share`, refills the part of
   * the subject, and leaves the other subjects what they have.
   *
   * @returns whether there was a counter or a block
   * @throws RateLimitConfigError if a rule is invalid
   * @throws RateLimitStoreError if Redis did not confirm the reset; it then applies to the fallback of this process
   *   only
   */
  async reset(rules: Rules<AnyRule>, subject: SubjectValue): Promise<boolean> {
    return this.resetHits(this.hits('reset', rules, subject));
  }

  /**
   * Deletes counters and blocks, as `reset`.
   *
   * @internal
   */
  async resetHits(hits: readonly RuleHit[]): Promise<boolean> {
    return (await confirmed('reset', () => this.engine.store.reset(hits))).includes(true);
  }

  /**
   * Blocks the subjects of hits, as `block`.
   *
   * @internal
   */
  async blockHits(hits: readonly RuleHit[], microseconds: number): Promise<void> {
    const { store } = this.engine;
    await confirmed('block', () => Promise.all(hits.map((each) => store.block(each, microseconds))));
  }

  /**
   * Waits until every server of the store has decided once, with the rules that are known, or has failed, at most a
   * second for the first connection. Events and `RateLimitHealth` report failures.
   */
  async ready(): Promise<void> {
    if (this.engine.pipeline) this.plain.hits(TRIAL, 'ready'); // Adds its algorithm to the trial of the store.
    await this.engine.ready();
  }

  /**
   * Refunds the permits that a decision charged, once. A charge that has expired is not refunded.
   *
   * @returns whether anything was refunded
   * @throws RateLimitConfigError if the decision is not one of a limiter, or an option is invalid
   */
  async refund(decision: Decision, options?: RefundOptions): Promise<boolean> {
    return this.engine.refund(decision, options, (name) => this.resolver.knows(name));
  }

  /** Number of processes that share the limits: the last count, at least `instances`. */
  get instanceCount(): number {
    return this.engine.pipeline?.instances.count ?? this.leastInstances;
  }

  /** The error of the last heartbeat, with which `instanceCount` may be out of date; `undefined` if it succeeded. */
  get instanceCountError(): unknown {
    return this.engine.pipeline?.instances.error;
  }

  /** Refunds prefetched permits, and stops renewals and heartbeats. It does not close the store. */
  close(): Promise<void> {
    return this.engine.close();
  }

  /**
   * @throws RateLimitConfigError if a rule or the cost is invalid, or if the operation does not support the
   *   algorithm
   */
  private hits(
    operation: Operation,
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    cost?: Cost,
  ): readonly RuleHit[] {
    const hits = this.resolver.hits(operation, rules, subject, cost, this.plain);
    checkOperation(operation, hits);
    if (typeof cost === 'object') checkNames(operation, Object.keys(cost), namesOf(hits));
    return hits;
  }
}

/** Accepts rules that are objects only. */
function plainResolver(): Resolver {
  const warned = new Set<string>();
  return {
    hits: (_operation, rules, subject, cost, plain) => plain.hits(rules, subject, cost),
    knows: () => false,
    compiled: () => undefined,
    warn: (code, message) => {
      if (!warned.has(code)) process.emitWarning(message, { type: 'RateLimitWarning', code });
      warned.add(code);
    },
  };
}
