import { compileRule } from '../../lib/core/compile-rule.js';
import type { CompiledRule } from '../../lib/core/rule.js';
import type { AlgorithmName, AnyRule } from '../../lib/index.js';

const LONGEST_REFILL = 3660 * 86_400e6;
const MOST_HELD = 40;

/** A rule as chance draws it: not every one may be said. Durations are in microseconds. */
export interface RuleSketch {
  algorithm: AlgorithmName;
  limit: number;
  window: number;
  cost: number;
  burst: number | undefined;
  align: 'first-hit' | 'clock';
  cells: number | undefined;
  undelayed: number | undefined;
  maxDelay: number | undefined;
  /** How long a denial blocks; 0: only who is told to. */
  block: number | undefined;
  observe: boolean;
}

/** The nearest rule that may be said: a burst that comes back some day, and a cost that can fit. */
export function toRule(sketch: RuleSketch): AnyRule {
  const rule = { ...choose(sketch), ...penalty(sketch) };
  const { capacity } = compileRule(rule);
  return { ...rule, cost: sketch.limit > 0 ? Math.min(sketch.cost, capacity) : sketch.cost };
}

export function compileSketch(sketch: RuleSketch): CompiledRule {
  return compileRule(toRule(sketch));
}

function choose(sketch: RuleSketch): AnyRule {
  const { algorithm, limit, align, cells, maxDelay } = sketch;
  const window = sketch.window / 1000;
  switch (algorithm) {
    case 'fixed-window':
      return { algorithm, limit, window, align };
    case 'sliding-window-cells':
      return {
        algorithm,
        limit,
        window,
        ...(cells && { cells: Math.min(cells, limit || 1, sketch.window) }),
      };
    case 'token-bucket':
    case 'gcra':
      return { algorithm, limit, window, burst: burstOf(sketch) };
    case 'leaky-bucket': {
      const burst = burstOf(sketch) - 1;
      const undelayed = Math.min(sketch.undelayed ?? 0, burst);
      return { algorithm, limit, window, burst, undelayed, ...(maxDelay && { maxDelay: maxDelay / 1000 }) };
    }
    case 'concurrency':
      return { algorithm, limit: Math.min(limit, MOST_HELD), lease: window };
    default:
      return { algorithm, limit, window };
  }
}

function penalty({ block, observe }: RuleSketch): Pick<AnyRule, 'block' | 'mode'> {
  return {
    ...(block !== undefined && { block: block === 0 ? 'manual' : block / 1000 }),
    ...(observe && { mode: 'observe' }),
  };
}

function burstOf({ limit, window, burst = limit }: RuleSketch): number {
  const exact = Math.floor(Number.MAX_SAFE_INTEGER / Math.max(1, limit));
  const soon = Math.floor((LONGEST_REFILL * limit) / window);
  return Math.max(1, Math.min(burst, exact, soon, 1e9));
}
