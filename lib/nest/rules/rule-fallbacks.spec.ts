import { describe, expect, it } from '@jest/globals';
import type { Fallback } from '../../contracts/decision.js';
import { RuleBook } from './rule-book.js';

/** Reads the rules of routes. Returns for each route the fallback of its rule "default". */
function bookOf(routes: Readonly<Record<string, Fallback | undefined>>) {
  const book = new RuleBook({ rules: { default: { limit: 5, window: '1m' } } });
  for (const [route, onStoreError] of Object.entries(routes)) {
    const rules = onStoreError === undefined ? [] : [{ onStoreError }];
    book.rulesFor([{ path: `@RateLimit on ${route}`, rules, skipped: [] }]);
  }
  return book;
}

const USUAL = 'each process limits in its memory, by its share of the limit';

describe('the fallback in a log line', () => {
  it('is stated by rule if all routes of the rule have the same fallback', () => {
    const book = new RuleBook({ rules: { login: { limit: 5, window: '1m', onStoreError: 'deny' } } });
    for (const route of ['Users.login', 'Users.reset']) {
      book.rulesFor([{ path: `@RateLimit on ${route}`, rules: [], skipped: [] }]);
    }
    expect(book.fallbacks.describe()).toBe(`${USUAL}; requests are denied with a 503 by the rule "login"`);
  });

  it('is stated by route if the routes of a rule differ, for at most three routes', () => {
    const book = bookOf({
      'Pay.pay': 'deny',
      'Pay.refund': 'deny',
      'Files.list': 'allow',
      'Files.a': 'allow',
      'Files.b': 'allow',
      'Files.c': 'allow',
      'Users.get': undefined,
    });
    expect(book.fallbacks.describe()).toBe(
      `${USUAL}; requests are allowed without being counted by the rule "default" of Files.list, Files.a, Files.b and 1 other route; requests are denied with a 503 by the rule "default" of Pay.pay, Pay.refund`,
    );
  });
});
