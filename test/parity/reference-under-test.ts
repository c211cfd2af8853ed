import type fc from 'fast-check';
import type { Receipt, Step } from '../../lib/contracts/algorithm.js';
import type { Model } from './brute-force.js';
import type { DrawnRule } from './drawn-rule.js';
import type { ForwardTimeline } from './forward-timeline.js';

/** A key of any algorithm. */
export interface AnyReference {
  state: unknown;
  peek(now: number, cost: number): Step<unknown>;
  hit(now: number, cost: number): Step<unknown>;
  refund(now: number, cost: number, receipt: Receipt, onlyLast?: boolean): boolean;
  readonly lease: string;
}

/** An algorithm with some of its options. */
export interface ReferenceUnderTest {
  readonly name: string;
  readonly create: (rule: DrawnRule) => AnyReference;
  /** The most permits that are available at once. */
  readonly capacity: (rule: DrawnRule) => number;
  /** The most permits that are available to a new subject, if that is less. */
  readonly atFirst?: (rule: DrawnRule) => number;
  /** The independent model of the algorithm, if there is one. */
  readonly model?: Model;
  /** Replaces the usual rules and instants. */
  readonly timelines?: fc.Arbitrary<ForwardTimeline>;
  /** The maximum number of timelines, if they are slow. */
  readonly atMost?: number;
}
