import { NOMINAL_LENGTHS } from '../../lib/algorithms/calendar-length.js';
import { compileRule } from '../../lib/core/compile-rule.js';
import type { CompiledRule } from '../../lib/core/rule.js';
import type { AlgorithmName, AnyRule, CalendarWindow } from '../../lib/index.js';
import { sayable } from './sayable-rule.js';

/** A rule as chance draws it: not every one may be said. Durations are in microseconds. */
export interface RuleSketch {
  algorithm: AlgorithmName;
  limit: number;
  window: number;
  cost: number;
  burst: number | undefined;
  align: 'first-hit' | 'clock' | undefined;
  /** The calendar's window in the place of `window`, where the algorithm knows calendars. */
  calendar: CalendarSketch | undefined;
  cells: number | undefined;
  refill: 'continuous' | 'interval' | undefined;
  initial: number | undefined;
  /** In the place of the bucket's other options. */
  warmUp: number | undefined;
  undelayed: number | undefined;
  maxDelay: number | undefined;
  /** Whether the lease is as long as the window; else it is the default. */
  lease: boolean;
  /** How long a denial blocks; 0: only who is told to. */
  block: number | undefined;
  observe: boolean;
}

export interface CalendarSketch {
  unit: CalendarWindow;
  timeZone: string | undefined;
  anchor: number | undefined;
  /** An instant near which the time zone has an odd day, in microseconds since the epoch. */
  near: number;
}

/** The nearest rule that may be said: a burst that comes back some day, and a cost that can fit. */
export function toRule(sketch: RuleSketch): AnyRule {
  const rule = { ...sayable(sketch), ...penalty(sketch) };
  const { capacity } = compileRule(rule);
  return { ...rule, cost: sketch.limit > 0 ? Math.min(sketch.cost, capacity) : sketch.cost };
}

export function compileSketch(sketch: RuleSketch): CompiledRule {
  return compileRule(toRule(sketch));
}

/** How long its window is as a rule, in microseconds. */
export function lengthOf({ algorithm, calendar, window }: RuleSketch): number {
  return algorithm === 'fixed-window' && calendar ? NOMINAL_LENGTHS[calendar.unit] : window;
}

/** Another rule by the same script, as a live change may make it: its keys stay. */
export function changed(sketch: RuleSketch, to: RuleSketch): RuleSketch {
  const { algorithm, calendar, warmUp } = sketch;
  return {
    ...to,
    algorithm,
    calendar: calendar && (to.calendar ?? calendar),
    warmUp: warmUp === undefined ? undefined : (to.warmUp ?? warmUp),
  };
}

function penalty({ block, observe }: RuleSketch): Pick<AnyRule, 'block' | 'mode'> {
  return {
    ...(block !== undefined && { block: block === 0 ? 'manual' : block / 1000 }),
    ...(observe && { mode: 'observe' }),
  };
}
