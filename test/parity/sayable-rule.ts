import { ruleOf } from '../support/example-rule.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { Capacity } from '../../lib/algorithms/burst.js';
import type { RuleSketch } from './rule-sketch.js';
import { ms } from '../support/milliseconds.js';

const LONGEST_REFILL = 3660 * 86_400e6;
const MOST_HELD = 40;
/** Its square is an exact integer of a double. */
const MOST_WARM = 94_000_000;

/** Returns the algorithm of the sketch with those of its options that the algorithm has, adjusted to valid values. */
export function sayable(sketch: RuleSketch): AnyRule {
  const { algorithm, limit, cells } = sketch;
  const window = ms(sketch.window / 1000);
  switch (algorithm) {
    case 'fixed-window':
      return fixedWindow(sketch);
    case 'sliding-window-cells':
      return {
        algorithm,
        limit,
        window,
        ...(cells && { cells: Math.min(cells, sketch.window) }),
      };
    case 'token-bucket':
      return tokenBucket(sketch);
    case 'sliding-window-counter':
      return { algorithm, limit, window };
    case 'gcra':
      if (isShared(sketch)) return shared(sketch);
      return { algorithm, limit, window, ...burst(sketch), ...overdraft(sketch) };
    case 'leaky-bucket':
      return leakyBucket(sketch);
    case 'concurrency':
      return {
        algorithm,
        limit: Math.min(limit, MOST_HELD),
        ...(sketch.lease && { lease: window }),
        ...(sketch.delayAfter !== undefined && { queue: sketch.delayAfter }),
      };
    default:
      return plainOrExample(sketch);
  }
}

/** Whether all subjects of the rule share its limit. Depends on options that gcra does not have itself. */
export function isShared({ algorithm, delayAfter, maxDelay }: RuleSketch): boolean {
  return algorithm === 'gcra' && delayAfter !== undefined && maxDelay !== undefined;
}

/** The units of a burst, which are exact with debt. */
const MOST_UNITS = 2 ** 51;

function shared(sketch: RuleSketch): AnyRule {
  const { limit, window, delayAfter = 0 } = sketch;
  return {
    algorithm: 'gcra',
    limit,
    window: ms(window / 1000),
    burst: Math.max(1, Math.min(burstOf(sketch, limit), Math.floor(MOST_UNITS / window))),
    share: delayAfter % 2 === 0 ? { weights: { 'tenant 0': 1 + delayAfter } } : { weight: delayAfter },
  };
}

/** Enough for any burst of an example: the square is exact. */
const MOST_OF_OTHERS = 1e6;

/** Returns a random example of the algorithm, with the limit and the window of the sketch. */
function plainOrExample({ algorithm, limit, window, cells = 0 }: RuleSketch): AnyRule {
  const definition = algorithms[algorithm];
  const example = definition.examples[(limit + cells) % definition.examples.length]!;
  const rule = ruleOf(definition, example, {
    limit: Math.min(Math.max(1, limit), MOST_OF_OTHERS),
    windowMs: window / 1000,
  });
  return { ...rule, limit: limit === 0 ? 0 : rule['limit'] } as never;
}

function fixedWindow({ limit, window, align, calendar }: RuleSketch): AnyRule {
  const algorithm = 'fixed-window';
  if (!calendar) return { algorithm, limit, window: ms(window / 1000), ...(align && { align }) };
  const { unit, timeZone, anchor } = calendar;
  return { algorithm, limit, window: unit, ...(timeZone && { timeZone }), ...(anchor && { anchor }) };
}

function tokenBucket(sketch: RuleSketch): AnyRule {
  const { limit, window, cost, refill, initial, warmUp } = sketch;
  const quota = { algorithm: 'token-bucket', limit, window: ms(window / 1000) } as const;
  if (warmUp !== undefined) {
    return { ...quota, limit: Math.min(limit, window, MOST_WARM), warmUp: ms(warmUp / 1000) };
  }
  const least = Math.max(1, cost);
  const most = burstOf(sketch, limit);
  return {
    ...quota,
    ...burst(sketch),
    ...overdraft(sketch),
    ...(refill && { refill }),
    ...(initial !== undefined && { initial: Math.min(Math.max(initial, least), most) }),
  };
}

function leakyBucket(sketch: RuleSketch): AnyRule {
  const { limit, window, delayAfter, maxDelay } = sketch;
  const waiting = burstOf(sketch, limit + 1) - 1;
  return {
    algorithm: 'leaky-bucket',
    limit,
    window: ms(window / 1000),
    ...((sketch.burst !== undefined || waiting !== limit) && { queue: waiting }),
    ...(delayAfter !== undefined && { delayAfter: Math.min(delayAfter, waiting) }),
    ...(maxDelay !== undefined && { maxWait: ms(maxDelay / 1000) }),
  };
}

/** Left at the default where the rule is valid without it. */
function burst(sketch: RuleSketch): { burst?: Capacity } {
  const most = burstOf(sketch, sketch.limit);
  const { limit, window, cells, initial } = sketch;
  if (cells !== undefined && initial === undefined && limit <= MOST_OF_OTHERS) {
    return { burst: ms(Math.ceil((window * (1 + (cells % 12))) / 6000)) };
  }
  return sketch.burst === undefined && most === sketch.limit ? {} : { burst: most };
}

function overdraft({ overdraft }: RuleSketch): { overdraft?: boolean } {
  return overdraft === undefined ? {} : { overdraft };
}

function burstOf({ limit, window, burst }: RuleSketch, unlessDrawn: number): number {
  const exact = Math.floor(Number.MAX_SAFE_INTEGER / Math.max(1, limit));
  const soon = Math.floor((LONGEST_REFILL * limit) / window);
  return Math.max(1, Math.min(burst ?? unlessDrawn, exact, soon, 1e9));
}
