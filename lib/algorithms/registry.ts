import type { Algorithm } from '../contracts/algorithm.js';
import { concurrency } from './concurrency/concurrency.js';
import { fixedWindow } from './fixed-window/fixed-window.js';
import { gcra } from './gcra/gcra.js';
import { know, type AlgorithmName } from './known.js';
import { leakyBucket } from './leaky-bucket/leaky-bucket.js';
import { slidingWindowCells } from './sliding-window-cells/sliding-window-cells.js';
import { slidingWindowCounter } from './sliding-window-counter/sliding-window-counter.js';
import { slidingWindowLog } from './sliding-window-log/sliding-window-log.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

/** All algorithms by name. A new algorithm needs a folder next to this file, a line here, and one in `known.ts`. */
export const algorithms = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'sliding-window-cells': slidingWindowCells,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
  concurrency,
} as const satisfies Readonly<Record<AlgorithmName, unknown>>;

/** Every algorithm, and every variant that serves some rules in its place. */
export const everyAlgorithm: readonly Algorithm[] = Object.values(algorithms).flatMap((algorithm) => [
  algorithm,
  ...('variants' in algorithm ? (algorithm.variants ?? []) : []),
]);

export type { AlgorithmName };

know(Object.values(algorithms));
