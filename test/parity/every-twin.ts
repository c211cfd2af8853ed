import { concurrency } from '../../lib/algorithms/concurrency/concurrency.js';
import { fixedWindow } from '../../lib/algorithms/fixed-window/fixed-window.js';
import { gcra } from '../../lib/algorithms/gcra/gcra.js';
import { leakyBucket } from '../../lib/algorithms/leaky-bucket/leaky-bucket.js';
import { slidingWindowCells } from '../../lib/algorithms/sliding-window-cells/sliding-window-cells.js';
import { slidingWindowCounter } from '../../lib/algorithms/sliding-window-counter/sliding-window-counter.js';
import { slidingWindowLog } from '../../lib/algorithms/sliding-window-log/sliding-window-log.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import type { Receipt, Step } from '../../lib/contracts/algorithm.js';
import { Twin } from '../support/twin.js';
import * as bruteForce from './brute-force.js';
import type { ForwardTimeline } from './forward-timeline.js';

/** A key of any algorithm. */
export interface AnyTwin {
  state: unknown;
  peek(now: number, cost: number): Step<unknown>;
  hit(now: number, cost: number): Step<unknown>;
  refund(now: number, cost: number, receipt: Receipt, onlyLast?: boolean): boolean;
  readonly lease: string;
}

type Terms = ForwardTimeline['rule'];

/** Every algorithm in every alignment, with the most that it gives at once, and the model of it. */
export const EVERY_TWIN: readonly {
  name: string;
  create: (rule: Terms) => AnyTwin;
  capacity: (rule: Terms) => number;
  model: bruteForce.Model;
}[] = [
  {
    name: 'fixed-window from the first hit',
    create: (rule) => new Twin(fixedWindow, rule),
    capacity: ({ limit }) => limit,
    model: bruteForce.fixedWindowFromFirstHit,
  },
  {
    name: 'fixed-window on the clock',
    create: (rule) => new Twin(fixedWindow, { ...rule, align: 'clock' }),
    capacity: ({ limit }) => limit,
    model: bruteForce.fixedWindowOnTheClock,
  },
  {
    name: 'sliding-window-log',
    create: (rule) => new Twin(slidingWindowLog, rule),
    capacity: ({ limit }) => limit,
    model: bruteForce.slidingWindowLog,
  },
  {
    name: 'sliding-window-counter',
    create: (rule) => new Twin(slidingWindowCounter, rule),
    capacity: ({ limit }) => limit,
    model: bruteForce.slidingWindowCounter,
  },
  {
    name: 'token-bucket',
    create: (rule) => new Twin(tokenBucket, rule),
    capacity: ({ burst }) => burst,
    model: bruteForce.tokenBucket,
  },
  {
    name: 'gcra',
    create: (rule) => new Twin(gcra, rule),
    capacity: ({ burst }) => burst,
    model: bruteForce.gcra,
  },
  {
    name: 'sliding-window-cells',
    create: (rule) => new Twin(slidingWindowCells, rule),
    capacity: ({ limit }) => limit,
    model: bruteForce.slidingWindowCells,
  },
  {
    name: 'leaky-bucket',
    create: (rule) => new Twin(leakyBucket, { ...rule, burst: rule.burst - 1 }),
    capacity: ({ burst }) => burst,
    model: bruteForce.leakyBucket,
  },
  {
    name: 'concurrency, never released',
    create: ({ limit, window }) => new Twin(concurrency, { limit, window: 0, lease: window / 1000 }),
    capacity: ({ limit }) => limit,
    model: bruteForce.slidingWindowLog,
  },
];
