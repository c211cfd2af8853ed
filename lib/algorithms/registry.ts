import type { Algorithm } from '../contracts/algorithm.js';
import { concurrency } from './concurrency/concurrency.js';
import { fixedWindow } from './fixed-window/fixed-window.js';
import { gcra } from './gcra/gcra.js';
import { leakyBucket } from './leaky-bucket/leaky-bucket.js';
import { slidingWindowCells } from './sliding-window-cells/sliding-window-cells.js';
import { slidingWindowCounter } from './sliding-window-counter/sliding-window-counter.js';
import { slidingWindowLog } from './sliding-window-log/sliding-window-log.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

/** All algorithms by name. A new algorithm needs a folder next to this file and a line here. */
export const algorithms = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'sliding-window-cells': slidingWindowCells,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
  concurrency,
} as const;

/** Every algorithm, and every variant that serves some rules in its place. */
export const everyAlgorithm: readonly Algorithm[] = Object.values(algorithms).flatMap((algorithm) => [
  algorithm,
  ...('variants' in algorithm ? (algorithm.variants ?? []) : []),
]);

/** Name of an algorithm. */
export type AlgorithmName = keyof typeof algorithms;

const forLargeLimits = Object.values(algorithms)
  .filter((algorithm) => 'forLargeLimits' in algorithm && algorithm.forLargeLimits)
  .map(({ name }) => `"${name}"`);

/** The algorithms for limits that are too large for the default algorithm, as a message lists them. */
export const FOR_LARGE_LIMITS = `${forLargeLimits.slice(0, -1).join(', ')} or ${forLargeLimits.at(-1)!}`;
