import { describe, expect, it } from '@jest/globals';
import type { Fallback } from '../../contracts/decision.js';
import { CacheLimit, KeyedRule } from '../../rules/keyed-rule.js';
import { describeFallbacks } from './rule-fallbacks.js';
import { TableRule } from './rule-table.js';

const KEYS = { cacheLimit: new CacheLimit(), keyed: () => new KeyedRule(() => []) };

/** Describes the fallbacks of a rule with this name on routes. */
function described(name: string, routes: Readonly<Record<string, Fallback | undefined>>): string {
  const rules = Object.entries(routes).map(
    ([route, onStoreError]) => new TableRule({ name, limit: 5, window: '1m', onStoreError }, KEYS, route),
  );
  return describeFallbacks(rules, {});
}

const USUAL = 'each process limits in its memory, by its share of the limit';

describe('the fallback in a log line', () => {
  it('is stated by rule if all routes of the rule have the same fallback', () => {
    expect(described('login', { 'Users.login': 'deny', 'Users.reset': 'deny' })).toBe(
      `${USUAL}; requests are denied with a 503 by the rule "login"`,
    );
  });

  it('is stated by route if the routes of a rule differ, for at most three routes', () => {
    const text = described('default', {
      'Pay.pay': 'deny',
      'Pay.refund': 'deny',
      'Files.list': 'allow',
      'Files.a': 'allow',
      'Files.b': 'allow',
      'Files.c': 'allow',
      'Users.get': undefined,
    });
    expect(text).toBe(
      `${USUAL}; requests are allowed without being counted by the rule "default" of Files.list, Files.a, Files.b and 1 other route; requests are denied with a 503 by the rule "default" of Pay.pay, Pay.refund`,
    );
  });
});
