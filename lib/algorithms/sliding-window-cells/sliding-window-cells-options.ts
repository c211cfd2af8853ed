import type { Terms } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch.js';
import { integer } from '../option-checks.js';
import { shareOf } from '../share.js';

/** Options of `algorithm: 'sliding-window-cells'`. */
export interface SlidingWindowCellsOptions extends Prefetchable {
  /**
   * Number of cells that the window is divided into: an integer from 1 to 1,000, at most `limit`. A permit becomes
   * available again up to one cell later than one window after it was taken: more cells shorten this delay and take
   * more memory.
   * @default 10, or `limit` if that is less
   */
  readonly cells?: number;
}

export type SlidingWindowCellsParameter = 'limit' | 'window' | 'cells';

const DEFAULT_CELLS = 10;

/** The option checks and the parameters of a rule. */
export const slidingWindowCellsTerms: Terms<SlidingWindowCellsOptions, SlidingWindowCellsParameter> = {
  parameters: ['limit', 'window', 'cells'],
  options: {
    cells: { ...integer(1, 1000), allowed: 'an integer from 1 to 1000, at most the limit' },
    prefetch: prefetchOption,
  },
  check({ limit, window, cells = 1 }) {
    if (cells > limit) return `cells is ${cells}; allowed: at most the limit, ${limit}`;
    if (cells > window) {
      return `cells is ${cells}; allowed: at most one a microsecond of the window, ${window}`;
    }
    if (cells * window > Number.MAX_SAFE_INTEGER) {
      return `cells x window is ${cells * window} microseconds; allowed: at most 2^53 - 1`;
    }
    return undefined;
  },
  share: ({ limit, cells }, processes) =>
    cells === undefined ? {} : { cells: Math.min(cells, shareOf(limit, processes)) },
  compile({ limit, window, cells = Math.max(1, Math.min(DEFAULT_CELLS, limit, window)) }) {
    return { limit, window, cells };
  },
};
