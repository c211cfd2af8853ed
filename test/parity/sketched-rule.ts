import { NOMINAL_LENGTHS } from '../../lib/algorithms/definition.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { RuleSketch } from './rule-sketch.js';
import { isShared, sayable } from './sayable-rule.js';
import { ms } from '../support/milliseconds.js';

/** Returns the nearest valid rule: with a burst that becomes available again, and a cost that can fit. */
export function toRule(sketch: RuleSketch): AnyRule {
  const rule = {
    ...sayable(sketch),
    ...penalty(isShared(sketch) ? { ...sketch, block: undefined } : sketch),
  };
  const { capacity } = compileRule(rule);
  return { ...rule, cost: sketch.limit > 0 ? Math.min(sketch.cost, capacity) : sketch.cost };
}

export function compileSketch(sketch: RuleSketch): CompiledRule {
  return compileRule(toRule(sketch));
}

/** Returns the length of its window as a rule, in microseconds. */
export function lengthOf({ algorithm, calendar, window }: RuleSketch): number {
  return algorithm === 'fixed-window' && calendar ? NOMINAL_LENGTHS[calendar.unit] : window;
}

/** Returns another rule with the same script, as after a live change. Often only its limit changes, so that its key stays. */
export function changed(sketch: RuleSketch, to: RuleSketch): RuleSketch {
  const { algorithm, calendar, warmUp, delayAfter, maxDelay } = sketch;
  if (to.overdraft === undefined) {
    const { limit, cost, block, shadow } = to;
    return { ...sketch, limit, cost, block, shadow };
  }
  const shared = { delayAfter: to.delayAfter ?? delayAfter, maxDelay: to.maxDelay ?? maxDelay };
  return {
    ...to,
    ...(algorithm === 'gcra' && (isShared(sketch) ? shared : { delayAfter: undefined })),
    algorithm,
    calendar: calendar && (to.calendar ?? calendar),
    warmUp: warmUp === undefined ? undefined : (to.warmUp ?? warmUp),
  };
}

function penalty({ block, shadow }: Pick<RuleSketch, 'block' | 'shadow'>): Pick<AnyRule, 'block' | 'mode'> {
  return {
    ...(block !== undefined && { block: block === 0 ? 'manual' : ms(block / 1000) }),
    ...(shadow && { mode: 'shadow' }),
  };
}
