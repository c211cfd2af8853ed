import { matching, type OptionCheck, readOptions } from '../contracts/options.js';
import type { Duration } from '../contracts/duration.js';
import { entryOf } from '../contracts/entry-of.js';
import type { Rule } from '../rules/rule.js';

const LONGEST_MS = 366 * 86_400_000;

/** What `increment` may be given. The storage of throttler accepts any value, and some never limit. */
const THROTTLER_ARGUMENTS = {
  ttl: {
    allowed: 'milliseconds above 0, up to 366 days',
    accepts: (value) => isBetween(value, 0, LONGEST_MS) && value !== 0,
    fix: (value) => (value === 0 ? 'to allow every request, use skipIf' : undefined),
    isRequired: true,
  },
  limit: {
    allowed: 'a number from 0',
    accepts: (value) => isBetween(value, 0, Infinity),
    fix: (value) => (isBetween(value, -Infinity, 0) ? 'to deny every request, write 0' : undefined),
    isRequired: true,
  },
  blockDuration: {
    allowed: 'milliseconds from 0, up to 366 days',
    accepts: (value) => isBetween(value, 0, LONGEST_MS),
    fix: (value) => (value === Infinity ? `the longest block is ${LONGEST_MS}` : undefined),
  },
  throttlerName: {
    ...matching(/^[\x20-\x7e]{1,64}$/, '1 to 64 printable ASCII characters, such as "default"'),
    isRequired: true,
  },
} satisfies Record<string, OptionCheck>;

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

/** The algorithms of throttlers: those that count permits in a window. */
export const THROTTLER_ALGORITHMS = [
  'sliding-window-log',
  'sliding-window-counter',
  'sliding-window-cells',
  'fixed-window',
  'gcra',
] as const;

/** The algorithms of a throttler. */
export type ThrottlerAlgorithm = (typeof THROTTLER_ALGORITHMS)[number];

const MOST_RULES = 1000;

/** The largest limit of a rule. */
const UNLIMITED = 1_000_000_000;

/** The limits of throttlers can be functions of the request: rules are compiled once for each combination of values. */
export class ThrottlerRuleCache {
  private readonly cached = new Map<string, ReturnType<typeof this.make>>();

  constructor(private readonly algorithm: ThrottlerAlgorithm) {}

  /**
   * @param ttl milliseconds
   * @param blockDuration milliseconds; 0 is no block
   * @throws RateLimitConfigError if a number or the name is invalid
   */
  of(name: string, ttl: number, limit: number, blockDuration: number): ReturnType<typeof this.make> {
    const key = `${ttl} ${limit} ${blockDuration} ${name}`;
    return entryOf(this.cached, key, () => {
      readOptions('increment', { ttl, limit, blockDuration, throttlerName: name }, THROTTLER_ARGUMENTS);
      if (this.cached.size === MOST_RULES) this.cached.clear();
      return this.make(name, ttl, Math.min(Math.floor(limit), UNLIMITED), blockDuration);
    });
  }

  /** Returns the rules of one throttler, with the limit and the times of one request. */
  private make(name: string, ttl: number, limit: number, blockDuration: number) {
    const { algorithm } = this;
    const window = milliseconds(ttl);
    const counter = { name, algorithm, limit, window } as Rule;
    const rule: Rule = blockDuration > 0 ? { ...counter, block: milliseconds(blockDuration) } : counter;
    const named = { name: `${name.slice(0, 56)}#window` };
    const windowOf: Rule = { ...named, algorithm: 'fixed-window', limit: UNLIMITED, window, mode: 'shadow' };
    return {
      /** The rule that decides, and the shadow rule that measures the window since the first request. */
      all: algorithm === 'fixed-window' ? [rule] : [rule, windowOf],
      /** The rule that decides, without its block: a reset of it keeps the block. */
      counter,
      /** The limit of both: an integer, at most that of a rule. */
      limit,
      /** Whether a block ends before the counted requests expire. The storage of throttler deletes them then. */
      forgets: blockDuration > 0 && blockDuration < ttl,
    };
  }
}

function milliseconds(value: number): Duration {
  return `${Math.ceil(value)}ms`;
}
