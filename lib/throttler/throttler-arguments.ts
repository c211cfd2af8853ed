import type { OptionCheck } from '../contracts/options.js';

/** The arguments of `increment` that set the rule of a throttler. */
export interface ThrottlerArguments {
  readonly ttl: number;
  readonly limit: number;
  readonly blockDuration: number;
  readonly throttlerName: string;
}

const LONGEST_MS = 366 * 86_400_000;
const NAME = /^[\x20-\x7e]{1,64}$/;

/** What `increment` may be given. The storage of throttler accepts any value, and some never limit. */
export const THROTTLER_ARGUMENTS = {
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
    allowed: '1 to 64 printable ASCII characters, such as "default"',
    accepts: (value) => typeof value === 'string' && NAME.test(value),
    isRequired: true,
  },
} satisfies Record<keyof ThrottlerArguments, OptionCheck>;

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
