import type { Decision } from '../contracts/decision.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { durationOption, readOptions, type OptionCheck } from '../contracts/options.js';
import { quoted, rejectConfig } from '../contracts/rate-limit-config.error.js';
import type { Cost, RuleHit } from '../rules/compiled-rule.js';
import { RULE_FIELDS } from '../rules/rule-fields.js';
import type { Engine } from './engine.js';
import { checkNames, checkOperation, namesOf, type MistakeLog } from './operation.js';
import type { Permit } from './permit.js';
import { COSTS, type ReserveOptions, type WaitOptions } from './rate-limiter.options.js';
import { Reservation } from './reservation.js';
import { LONGEST_WAIT_MS, maxWaitOf } from './wait.js';

/** The check of the longest wait of an operation. */
const MAX_WAIT: OptionCheck = {
  ...durationOption,
  allowed: `"0s", or ${durationOption.allowed}`,
  accepts: (value) => value === '0s' || value === '0ms' || durationOption.accepts(value),
};

/** The checks of the options of `reserve`. */
const RESERVE_OPTIONS = {
  cost: COSTS,
  settles: { ...RULE_FIELDS.name, allowed: 'the name of one of the rules' },
  maxWait: MAX_WAIT,
} satisfies Record<keyof ReserveOptions, OptionCheck>;

/**
 * Reserves permits, as `reserve` of a limiter.
 *
 * @param hitsOf returns the hits of its rules
 */
export async function reserve(
  engine: Engine,
  log: MistakeLog,
  options: ReserveOptions | undefined,
  hitsOf: (cost: Cost | undefined) => readonly RuleHit[],
): Promise<Reservation> {
  const { cost: given, settles, maxWait } = readOptions('reserve', options, RESERVE_OPTIONS);
  const cost = typeof given === 'number' && settles !== undefined ? { [settles]: given } : given;
  const hits = hitsOf(cost);
  checkReserved(namesOf(hits), cost, settles);
  const maxWaitMs = millisecondsOf(maxWait) ?? 0;
  const isScheduled = maxWaitMs > 0;
  if (isScheduled) checkOperation('reserve() with maxWait', hits);
  const decision = await engine.decide(hits, isScheduled ? { maxWait: maxWaitOf(maxWaitMs) } : undefined);
  return new Reservation(decision, engine, log, { hits, settles, isScheduled });
}

/**
 * Checks that it is known which rules a settlement concerns.
 *
 * @throws RateLimitConfigError if several rules are reserved without names
 */
function checkReserved(names: readonly string[], cost: Cost = 1, settles?: string): void {
  if (settles !== undefined) {
    checkNames('reserve', [settles], names);
    return;
  }
  if (typeof cost === 'object' || names.length === 1) return;
  const first = quoted(names.slice(0, 1));
  rejectConfig(
    `reserve() of ${quoted(names)} needs to know which rule is settled; ` +
      `write cost by rule name, such as { ${first}: ${cost} }, or settles: ${first}`,
  );
}

/** The checks of the options of `acquire` and `hold`. */
const WAIT_OPTIONS = {
  cost: RULE_FIELDS.cost,
  maxWait: MAX_WAIT,
  signal: {
    allowed: 'an AbortSignal',
    accepts: (value) => typeof (value as AbortSignal | null)?.throwIfAborted === 'function',
  },
} satisfies Record<keyof WaitOptions, OptionCheck>;

/**
 * Waits for permits and takes them, as `acquire` of a limiter.
 *
 * @param hitsOf returns the hits of its current rule
 */
export async function acquire(
  engine: Engine,
  options: WaitOptions | undefined,
  hitsOf: (cost: number | undefined) => readonly RuleHit[],
): Promise<Decision> {
  const { cost, maxWait, signal } = readOptions('acquire', options, WAIT_OPTIONS);
  signal?.throwIfAborted();
  const hits = hitsOf(cost);
  const { queues, maxWaitMs = LONGEST_WAIT_MS } = hits[0]!.rule;
  const longestMs = millisecondsOf(maxWait) ?? maxWaitMs;
  const waits = !queues || hits.some(({ block }) => block);
  const decision = waits
    ? await engine.decideWaiting(hits, { maxWaitMs: longestMs, signal, current: () => hitsOf(cost), queues })
    : await engine.decide(hits, { maxWait: maxWaitOf(longestMs) });
  if (decision.delayMs > 0) await engine.delay(decision, signal);
  return decision;
}

/**
 * Takes permits and holds them, as `hold` of a limiter.
 *
 * @param hitsOf returns the hits of its current rule
 */
export async function hold(
  engine: Engine,
  log: MistakeLog,
  options: WaitOptions | undefined,
  hitsOf: (cost: number | undefined) => readonly RuleHit[],
): Promise<Permit> {
  const { cost, maxWait, signal } = readOptions('hold', options, WAIT_OPTIONS);
  const hits = hitsOf(cost);
  const maxWaitMs = millisecondsOf(maxWait) ?? hits[0]!.rule.maxWaitMs ?? 0;
  if (maxWaitMs === 0) signal?.throwIfAborted();
  const waiting = hits.map((hit) => ({ ...hit, waits: true }));
  const decision = await (maxWaitMs === 0
    ? engine.decide(hits)
    : engine.decideWaiting(waiting, { maxWaitMs, signal, current: () => hitsOf(cost) }));
  return engine.permit(decision).watch((message) => log.warn('RL_PERMIT_DROPPED', message));
}

/** Returns a longest wait in milliseconds; `undefined` if there is none. */
function millisecondsOf(maxWait: Duration | undefined): number | undefined {
  return maxWait === undefined ? undefined : (parseDuration(maxWait) ?? 0) / 1000;
}
