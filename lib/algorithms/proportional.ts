import type { Algorithm } from '../contracts/algorithm.js';
import type { OptionCheck } from '../contracts/options.js';
import type { AlgorithmDefinition, Quota, Variant } from './definition.js';
import { LONGEST } from './rate.js';
import { NEVER } from './result.js';

/** The option `inherit` of the algorithms whose consumed permits can be scaled. */
export interface Inheriting {
  /**
   * What consumed permits count for after the limit has changed: `'absolute'`: 50 consumed permits stay 50;
   * `'proportional'`: half of the old limit is half of the new one, rounded up. All processes must have the same value,
   * since the state of a proportional rule contains its limit: another value starts new counters.
   * @default 'absolute'
   */
  readonly inherit?: 'absolute' | 'proportional';
}

/** The state of a proportional rule. */
export interface ProportionalState<State> {
  /** The limit that the permits of the state were counted with. */
  readonly limit: number;
  readonly state: State;
}

/** Scales the consumed permits of a state from one limit to another. Both are from 1. */
export type Scale<State> = (state: State, from: number, to: number) => State;

/** The square root of 2^53, so that the product of two limits is exact. */
const LARGEST = 94_906_265;

/** The check of the option `inherit`. */
export const inheritOption: OptionCheck = {
  allowed: '"absolute" or "proportional"',
  accepts: (value) => value === 'absolute' || value === 'proportional',
};

/** Scales a number of permits, rounded up. Exact without debt. */
export function scaleCount(count: number, from: number, to: number): number {
  return Math.min(LONGEST, Math.ceil((count * to) / from));
}

/** Adds the variant with `inherit: 'proportional'` to an algorithm whose first parameter is the limit. See docs/adr/0062-inherited-permits.md. */
export function inheriting<Options extends Inheriting, State, Parameter extends string, Traits = unknown>(
  scale: Scale<State>,
  definition: AlgorithmDefinition<Options, State, Parameter> & Traits,
  scaled: readonly Variant<object, State>[] = [],
): AlgorithmDefinition<Options, State, Parameter> & Traits {
  const bases: readonly Variant<object, State>[] = [definition, ...scaled];
  const variants = bases.map((base) => proportional(base, scale));
  return {
    ...definition,
    resolve(rule) {
      const chosen = definition.resolve?.(rule);
      if (rule.inherit !== 'proportional') return chosen;
      const base = chosen ?? definition;
      return variants.find(({ name }) => name === nameOf(base)) ?? chosen;
    },
    variants: [...(definition.variants ?? []), ...variants],
  };
}

function nameOf({ name }: Pick<Algorithm, 'name'>): string {
  return `${name}-proportional`;
}

/** Returns an algorithm that stores the limit with the state, and scales the state of another limit. */
function proportional<State>(
  base: Variant<object, State>,
  scale: Scale<State>,
): Variant<object, ProportionalState<State>> & { readonly base: Algorithm } {
  const scaled = ({ limit: from, state }: ProportionalState<State>, to: number) =>
    from === to ? state : scale(state, from, to);
  const { sizeOf, renew: _none, clear: _nor, ...rest } = base;
  return {
    ...rest,
    base: base,
    name: nameOf(base),
    check: (rule) => problemOf(rule) ?? base.check?.(rule),
    step(stored, now, cost, parameters, maxWait) {
      const limit = parameters['limit']!;
      if (limit === 0) return NEVER;
      const step = base.step(stored && scaled(stored, limit), now, cost, parameters, maxWait);
      return step.allowed ? { ...step, state: { limit, state: step.state } } : step;
    },
    refund(stored, now, cost, parameters, receipt, onlyLast) {
      const limit = parameters['limit']!;
      if (limit === 0) return undefined;
      const next = base.refund(scaled(stored, limit), now, cost, parameters, receipt, onlyLast);
      return next && { ...next, state: { limit, state: next.state } };
    },
    ...(sizeOf && { sizeOf: ({ state }) => sizeOf(state) }),
  };
}

function problemOf({ limit, burst }: Quota & { readonly burst?: number }): string | undefined {
  if (burst !== undefined) {
    return `burst is ${burst}; allowed: none with inherit "proportional", which scales the consumed part of the limit`;
  }
  if (limit > LARGEST) {
    return `limit is ${limit}; allowed with inherit "proportional": at most ${LARGEST}, so that scaling is exact`;
  }
  return undefined;
}
