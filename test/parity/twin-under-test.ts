import type fc from 'fast-check';
import type { Receipt, Step } from '../../lib/contracts/algorithm.js';
import type { Model } from './brute-force.js';
import type { DrawnRule } from './drawn-rule.js';
import type { ForwardTimeline } from './forward-timeline.js';

/** A key of any algorithm. */
export interface AnyTwin {
  state: unknown;
  peek(now: number, cost: number): Step<unknown>;
  hit(now: number, cost: number): Step<unknown>;
  refund(now: number, cost: number, receipt: Receipt, onlyLast?: boolean): boolean;
  readonly lease: string;
}

/** An algorithm with some of its options. */
export interface TwinUnderTest {
  readonly name: string;
  readonly create: (rule: DrawnRule) => AnyTwin;
  /** The most that it gives at once. */
  readonly capacity: (rule: DrawnRule) => number;
  /** The most that it gives a new subject at once, where that is less. */
  readonly atFirst?: (rule: DrawnRule) => number;
  /** What it admits, worked out a second time; absent if nobody has. */
  readonly model?: Model;
  /** Other rules and instants than the usual. */
  readonly timelines?: fc.Arbitrary<ForwardTimeline>;
  /** The most timelines to try where they take their time. */
  readonly atMost?: number;
}
