import type { RouteRuleFields } from '../nest/rules/route-rule.js';
import type { AlgorithmName } from '../algorithms/registry.js';
import type { AnyOptions } from '../rules/rule.js';

type Value<Field> = Exclude<Field, (...args: never[]) => unknown>;

/**
 * The fields of a rule that can change while the application runs. Those that select requests and subjects (`by`, `scope`,
 * `count`, `skipIf`, `allowList` and others) belong to the code.
 */
export type LiveRuleFields = {
  readonly [Name in 'limit' | 'window' | 'cost']?: Value<RouteRuleFields[Name]>;
} & Pick<RouteRuleFields, 'block' | 'mode' | 'maxWait' | 'trial' | 'onStoreError' | 'plans'> &
  Partial<AnyOptions> & {
    /** The algorithm. Another algorithm starts new counters. */
    readonly algorithm?: AlgorithmName | undefined;
  };
