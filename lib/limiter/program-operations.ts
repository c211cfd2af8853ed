import { checkDecision, type Decision, type RuleDecision } from '../contracts/decision.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { AUTHORSHIP, durationOption, readOptions, rejection } from '../contracts/options.js';
import { ifValid, rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import type { Cost, CompiledRule, RuleHit } from '../rules/compiled-rule.js';
import { checkTogether, readSubject, RuleCache } from '../rules/rule-cache.js';
import type { AnyRule } from '../rules/rule.js';
import type { SubjectValue } from '../rules/subject.js';
import { DecidedHit } from './decision.js';
import type { Engine } from './engine.js';
import {
  checkNames,
  checkOperation,
  checkReserved,
  costOf,
  namesOf,
  REFUND_OPTIONS,
  RESERVE_OPTIONS,
  WAIT_OPTIONS,
  type MistakeLog,
  type Operation,
  type Rules,
} from './operation.js';
import type { Permit } from './permit.js';
import { confirmed } from './rate-limit-store.error.js';
import {
  LONGEST_WAIT_MS,
  maxWaitOf,
  type BlockOptions,
  type ConsumeOptions,
  type RefundOptions,
  type ReserveOptions,
  type WaitOptions,
} from './rate-limiter.options.js';
import { Reservation } from './reservation.js';

/** How a limiter finds the rules that programs pass, and reports their mistakes. */
export interface Resolver extends MistakeLog {
  /**
   * Returns the hits of a subject on rules.
   *
   * @param plain resolves rules that are objects
   * @param window the window of the counters to reset, of a rule whose window is a function
   */
  readonly hits: (
    operation: Operation,
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
    window?: Duration,
  ) => readonly RuleHit[];
  /** Whether there is a rule of this name, which may not apply to a client. */
  readonly knows?: (name: string) => boolean;
  /** Called once with each rule object. */
  readonly compiled?: (rule: AnyRule, compiled: CompiledRule) => void;
  /** Loads the algorithms of rules; `undefined` if they are loaded. */
  readonly load?: (rules: unknown) => Promise<void> | undefined;
}

/** The operations of programs, as the methods of a limiter describe them. */
export class ProgramOperations {
  /** The rules that are objects. */
  private readonly plain = new RuleCache((compiled, rule) => {
    this.resolver.compiled?.(rule, compiled);
    return this.engine.keyed(compiled);
  });

  constructor(
    private readonly engine: Engine,
    readonly resolver: Resolver = plainResolver(),
  ) {}

  consume(rules: Rules<AnyRule>, subject: SubjectValue, options?: ConsumeOptions): Promise<Decision> {
    try {
      const decision = this.engine.decide(this.hits('consume', rules, subject, costOf('consume', options)));
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      const reason = error as Error; // whatever it is, as an async function
      return Promise.reject(reason);
    }
  }

  async peek(rules: Rules<AnyRule>, subject: SubjectValue, options?: ConsumeOptions): Promise<Decision> {
    const hits = this.hits('peek', rules, subject, costOf('peek', options));
    return this.engine.decide(hits, { dryRun: true, peek: true });
  }

  async reserve(
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    options?: ReserveOptions,
  ): Promise<Reservation> {
    const { cost: given, settles, maxWait } = readOptions('reserve', options, RESERVE_OPTIONS);
    const cost = typeof given === 'number' && settles !== undefined ? { [settles]: given } : given;
    const hits = this.hits('reserve', rules, subject, cost);
    checkReserved(namesOf(hits), cost, settles);
    const maxWaitMs = millisecondsOf(maxWait) ?? 0;
    const isScheduled = maxWaitMs > 0;
    if (isScheduled) checkOperation('reserve() with maxWait', hits);
    const waits = isScheduled ? { maxWait: maxWaitOf(maxWaitMs) } : undefined;
    const decision = await this.engine.decide(hits, waits);
    return new Reservation(decision, this.engine, this.resolver, { hits, settles, isScheduled });
  }

  async acquire(rule: AnyRule, subject: SubjectValue, options?: WaitOptions): Promise<Decision> {
    const { cost, maxWait, signal } = readOptions('acquire', options, WAIT_OPTIONS);
    signal?.throwIfAborted();
    const { engine } = this;
    const current = (): readonly RuleHit[] => this.hits('acquire', rule, subject, cost);
    const hits = current();
    const { queues, maxWaitMs: ofRule = LONGEST_WAIT_MS } = hits[0]!.rule;
    const maxWaitMs = millisecondsOf(maxWait) ?? ofRule;
    const waits = !queues || hits.some(({ block }) => block);
    const decision = waits
      ? await engine.decideWaiting(hits, { maxWaitMs, signal, current, queues })
      : await engine.decide(hits, { maxWait: maxWaitOf(maxWaitMs) });
    return decision.delayMs > 0 ? engine.delay(decision, signal, engine.ending.signal) : decision;
  }

  async hold(rule: AnyRule, subject: SubjectValue, options?: WaitOptions): Promise<Permit> {
    const { cost, maxWait, signal } = readOptions('hold', options, WAIT_OPTIONS);
    const { engine, resolver } = this;
    const current = (): readonly RuleHit[] => this.hits('hold', rule, subject, cost);
    const hits = current();
    const maxWaitMs = millisecondsOf(maxWait) ?? hits[0]!.rule.maxWaitMs ?? 0;
    if (maxWaitMs === 0) signal?.throwIfAborted();
    const waiting = hits.map((hit) => ({ ...hit, waits: true }));
    const decision = await (maxWaitMs === 0
      ? engine.decide(hits)
      : engine.decideWaiting(waiting, { maxWaitMs, signal, current }));
    return engine.permit(decision).watch((message) => resolver.warn('RL_PERMIT_DROPPED', message));
  }

  async block(
    rule: AnyRule,
    subject: SubjectValue,
    duration: Duration,
    options?: BlockOptions,
  ): Promise<void> {
    const author = readOptions('block', options, AUTHORSHIP);
    const microseconds = parseDuration(duration);
    if (microseconds === undefined) rejectConfig(rejection('duration', duration, durationOption));
    const counters = this.blockable('block', rule, subject);
    await blockHits(this.engine, counters, microseconds);
    this.engine.events.blocked(counters, microseconds / 1000, author);
  }

  async unblock(rule: AnyRule, subject: SubjectValue): Promise<boolean> {
    return blockHits(this.engine, this.blockable('unblock', rule, subject), 0);
  }

  async reset(rules: Rules<AnyRule>, subject: SubjectValue, window?: Duration): Promise<boolean> {
    const hits = this.resolver.hits('reset', rules, subject, undefined, this.plain, window);
    return resetHits(this.engine, hits);
  }

  /** Returns what a subject has left under rules by name. If all are meant, those that do not fit the subject are left out. */
  async usage(
    names: readonly string[],
    subject: SubjectValue,
    areAllMeant: boolean,
  ): Promise<readonly RuleDecision[]> {
    if (!REFUND_OPTIONS.rules.accepts(names)) rejectValue('rules', names, REFUND_OPTIONS.rules.allowed);
    if (areAllMeant) readSubject(subject);
    const hitsOf = (name: string): readonly RuleHit[] => this.hits('peek', name as never, subject);
    const hits = names.flatMap((name) => (areAllMeant ? (ifValid(() => hitsOf(name)) ?? []) : hitsOf(name)));
    if (hits.length === 0) return [];
    checkTogether(hits);
    return (await this.engine.decide(hits, { dryRun: true })).decisions;
  }

  async refund(decision: Decision, options?: RefundOptions): Promise<boolean> {
    checkCharged(decision);
    const read = readOptions('refund', options, REFUND_OPTIONS);
    const unknown = read.rules?.filter((name) => !this.resolver.knows?.(name)) ?? [];
    const known = decision.decisions.map(({ rule }) => rule);
    checkNames('refund', unknown, known);
    return this.engine.refund(decision, read);
  }

  /** @throws RateLimitConfigError if the rule is invalid or has no block */
  private blockable(operation: Operation, rule: AnyRule, subject: SubjectValue): readonly RuleHit[] {
    const hits = this.hits(operation, rule, subject);
    const counters = hits.filter((hit) => hit.block && hit.rule.trialOf === undefined);
    if (counters.length > 0) return counters;
    rejectConfig(`rule "${hits[0]!.rule.name}".block: missing; allowed: a duration, or "manual"`);
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

/** Accepts rules that are objects only, whose algorithms are loaded. */
function plainResolver(): Resolver {
  const warned = new Set<string>();
  return {
    hits: (_operation, rules, subject, cost, plain) => plain.hits(rules, subject, cost),
    warn: (code, message) => {
      if (!warned.has(code)) process.emitWarning(message, { type: 'RateLimitWarning', code });
      warned.add(code);
    },
  };
}

/** Blocks the subjects of hits, or ends their blocks if the duration is 0. Returns whether one was blocked before. */
export async function blockHits(
  { store }: Engine,
  hits: readonly RuleHit[],
  microseconds: number,
): Promise<boolean> {
  const block = () => Promise.all(hits.map((each) => store.block(each, microseconds)));
  return (await confirmed(microseconds === 0 ? 'unblock' : 'block', block)).includes(true);
}

/** Deletes the counters and blocks of hits. Returns whether there were any. */
export async function resetHits({ store }: Engine, hits: readonly RuleHit[]): Promise<boolean> {
  return (await confirmed('reset', () => store.reset(hits))).includes(true);
}

/**
 * @throws RateLimitConfigError if the decision was allowed and its charge is unknown: a copy, or an object of
 *   another origin
 */
function checkCharged(decision: unknown): void {
  const given = checkDecision(decision);
  if (given instanceof DecidedHit || !given.allowed) return;
  const allowed = 'the object that the limiter returned, since a copy does not have its charge';
  rejectValue('decision', given, allowed);
}

/** Returns a longest wait in milliseconds; `undefined` if there is none. */
function millisecondsOf(maxWait: Duration | undefined): number | undefined {
  return maxWait === undefined ? undefined : (parseDuration(maxWait) ?? 0) / 1000;
}
