import { describe, expect, it, jest } from '@jest/globals';
import type { SourcedRule } from '../contracts/rule-source.js';
import { sampleOf } from '../nest/request/per-request-rule.js';
import { ExceptionCache } from './change-of-rule.js';

const RULE = { name: 'login', window: '1m', limit: 5 };
const EXCEPTIONS = ['203.0.113.7', '203.0.113.8'].map((subject): SourcedRule => {
  return { rule: 'login', subject, fields: { limit: 50 } };
});

describe('the exceptions of a rule with many routes', () => {
  const compile = jest.fn(() => sampleOf({ ...RULE, limit: 50 }, 'rule'));

  it('are compiled once for all routes and subjects with equal fields', () => {
    const cache = new ExceptionCache();
    for (let route = 0; route < 100; route++) {
      const text = cache.textOf({ ...RULE });
      for (const { fields } of EXCEPTIONS) cache.compile(text, fields, compile);
    }
    expect(compile).toHaveBeenCalledTimes(1);
  });

  it('are compiled again for a rule with other fields or functions', () => {
    const cache = new ExceptionCache();
    const texts = [
      RULE,
      { ...RULE, limit: 6 },
      { ...RULE, skipIf: () => true },
      { ...RULE, skipIf: () => true },
    ];
    expect(new Set(texts.map((fields) => cache.textOf(fields))).size).toBe(texts.length);
  });

  it('are one list for all routes that count by the same subject', () => {
    const cache = new ExceptionCache();
    const list = (ipv6Prefix: number) => cache.bySubject(EXCEPTIONS, 'ip', ipv6Prefix, 'rule');
    expect(list(64)).toBe(list(64));
    expect(list(56)).not.toBe(list(64));
  });

  it('are forgotten when no rule has used them during two changes', () => {
    const cache = new ExceptionCache();
    const again = jest.fn(compile);
    const use = () => cache.compile(cache.textOf(RULE), { limit: 50 }, again);
    use();
    cache.turnOver();
    use();
    expect(again).toHaveBeenCalledTimes(1);
    cache.turnOver();
    cache.turnOver();
    use();
    expect(again).toHaveBeenCalledTimes(2);
  });
});
