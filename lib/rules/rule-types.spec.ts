import { describe, expect, it } from '@jest/globals';
import type { Rule } from './rule.js';
import { compileRule } from './compile-rule.js';
import '../algorithms/registry.js';

/**
 * Rules that do not compile, and that fail at run time in an application that is not type-checked.
 * `npm run typecheck` fails on an `@ts-expect-error` without an error.
 */
const REFUSED: readonly Rule[] = [
  // @ts-expect-error a fixed window has no burst
  { algorithm: 'fixed-window', limit: 5, window: '1m', burst: 10 },
  // @ts-expect-error a log has no burst
  { algorithm: 'sliding-window-log', limit: 5, window: '1m', burst: 10 },
  // @ts-expect-error a log is aligned to nothing
  { algorithm: 'sliding-window-log', limit: 5, window: '1m', align: 'clock' },
  // @ts-expect-error a counter is always aligned to the clock
  { algorithm: 'sliding-window-counter', limit: 5, window: '1m', align: 'clock' },
  // @ts-expect-error a bucket has no windows to align
  { algorithm: 'token-bucket', limit: 5, window: '1m', align: 'clock' },
  // @ts-expect-error nor has gcra
  { algorithm: 'gcra', limit: 5, window: '1m', align: 'clock' },
  // @ts-expect-error the default algorithm has no burst
  { limit: 5, window: '1m', burst: 10 },
  // @ts-expect-error there is no such alignment
  { algorithm: 'fixed-window', limit: 5, window: '1m', align: 'utc' },
  // @ts-expect-error there is no such algorithm
  { algorithm: 'leaky', limit: 5, window: '1m' },
  // @ts-expect-error a limit is a number
  { limit: 'five', window: '1m' },
  // @ts-expect-error a window has a unit
  { limit: 5, window: 60 },
  // @ts-expect-error a window has a unit, as a string too
  { limit: 5, window: '60' },
  // @ts-expect-error a block has a unit
  { limit: 5, window: '1m', block: 5000 },
  // @ts-expect-error there is no such unit
  { limit: 5, window: '1x' },
  // @ts-expect-error a log takes nothing ahead
  { algorithm: 'sliding-window-log', limit: 5, window: '1m', prefetch: { permits: 2 } },
  // @ts-expect-error nor does the default algorithm, which is a log
  { limit: 5, window: '1m', prefetch: { permits: 2 } },
  // @ts-expect-error a lease is of so many permits
  { algorithm: 'gcra', limit: 5, window: '1m', prefetch: { ttl: '1s' } },
  // @ts-expect-error a warm-up stores time instead of tokens
  { algorithm: 'token-bucket', limit: 5, window: '1m', warmUp: '5s', burst: 10 },
  // @ts-expect-error a leaky bucket lends nothing
  { algorithm: 'leaky-bucket', limit: 5, window: '1m', overdraft: true },
  // @ts-expect-error nor does the default algorithm
  { limit: 5, window: '1m', overdraft: true },
  // @ts-expect-error a warm-up has no burst to overdraw
  { algorithm: 'token-bucket', limit: 5, window: '1m', warmUp: '5s', overdraft: true },
  // @ts-expect-error a log has no part of a permit
  { algorithm: 'sliding-window-log', limit: 5, window: '1m', inherit: 'proportional' },
  // @ts-expect-error nor has a queue
  { algorithm: 'leaky-bucket', limit: 5, window: '1m', inherit: 'proportional' },
  // @ts-expect-error only gcra has shares
  { algorithm: 'fixed-window', limit: 5, window: '1m', share: {} },
  // @ts-expect-error `by` is a field of the rule
  { algorithm: 'gcra', limit: 5, window: '1m', share: { by: 'x-tenant' } },
  // @ts-expect-error a rule needs a window
  { limit: 5 },
  // @ts-expect-error a rule needs a limit
  { window: '1m' },
];

/** Valid rules of several algorithms, as a check that the type accepts valid rules. */
const ACCEPTED: readonly Rule[] = [
  { limit: 5, window: '1m' },
  { algorithm: 'fixed-window', limit: 5, window: '250ms' },
  { algorithm: 'fixed-window', limit: 5, window: '250ms', align: 'clock' },
  { algorithm: 'sliding-window-log', limit: 5, window: '10s' },
  { algorithm: 'sliding-window-counter', limit: 5, window: '1h' },
  { algorithm: 'token-bucket', limit: 5, window: '1d', burst: 10 },
  { algorithm: 'gcra', limit: 5, window: '1w', burst: 10, cost: 2, name: 'mail' },
  { algorithm: 'gcra', limit: 5, window: '1m', burst: 10, overdraft: true },
  { algorithm: 'token-bucket', limit: 5, window: '1m', overdraft: true },
  { algorithm: 'sliding-window-counter', limit: 5, window: '1m', prefetch: { permits: 2 } },
  { algorithm: 'gcra', limit: 5, window: '1m', prefetch: { permits: 2, ttl: '500ms' } },
  { algorithm: 'gcra', limit: 5, window: '1m', share: { weights: { gold: 5 }, weight: 2 } },
  { algorithm: 'token-bucket', limit: 5, window: '1m', burst: '10s' },
];

describe('compileRule', () => {
  it.each(REFUSED)('rejects a rule that does not compile: %j', (rule) => {
    expect(() => compileRule(rule)).toThrow('Rate limit configuration is wrong');
  });

  it.each(ACCEPTED)('accepts a rule that compiles: %j', (rule) => {
    expect(() => compileRule(rule)).not.toThrow();
  });
});
