import { describe, expect, it, jest } from '@jest/globals';
import '../../algorithms/registry.js';
import { CacheLimit } from '../../rules/keyed-rule.js';
import { Keys } from '../../rules/keys.js';
import type { SourcedRule } from '../../contracts/rule-source.js';
import { loaded } from './named-parts.js';
import { exceptionsBySubject, type HeldRule } from './rule-changes.js';
import type { RuleFields } from './rule-layers.js';
import type { RuleKeys } from './effective-rule.js';
import { TableRule } from './rule-table.js';
import * as variation from './varied-rule.js';

loaded.variation = variation;

const RULE = { name: 'login', window: '1m', limit: 5 };
const HELD: HeldRule[] = ['203.0.113.7', '203.0.113.8'].map((subject) => {
  return { rule: 'login', subject, fields: { limit: 50 } satisfies SourcedRule['fields'], until: Infinity };
});
const NO_EXCEPTIONS = { layer: undefined, exceptions: [] };
const fail = (_exception: HeldRule, problems: readonly string[]) => expect(problems).toEqual([]);
const CHANGES = { layer: undefined, exceptions: HELD };

/** Returns a function that creates rules, and how often a rule got its keys. */
function table(cacheLimit = new CacheLimit()) {
  const keys = new Keys('rl:', () => 0);
  const keyed = jest.fn<RuleKeys['keyed']>((rule, { route }, _fields, counter) =>
    keys.keyed(rule, route, counter),
  );
  const open = (fields: RuleFields, route = 'POST /login') =>
    new TableRule(fields, { cacheLimit, keyed }, 'LoginController.login', route);
  const limitOf = (rule: ReturnType<typeof open>, subject: string) =>
    rule.hitsOf(subject, undefined).map((hit) => hit.rule.capacity);
  return { open, keyed, limitOf };
}

describe('the effective rule of a request', () => {
  it('has the fields of its plan, compiled once', () => {
    const { open, keyed } = table();
    const { current } = open({ ...RULE, plans: { pro: { limit: 100 } }, plan: () => 'pro' });
    const compiled = keyed.mock.calls.length;
    const [hit] = current.for({ plan: 'pro' }).hits('ann');
    expect(hit).toMatchObject({ rule: { capacity: 100, resolved: { plan: 'pro' } } });
    expect(current.for({ plan: 'pro' })).toBe(current.for({ plan: 'pro' }));
    expect(keyed).toHaveBeenCalledTimes(compiled);
  });

  it('has the values that functions returned, compiled once for equal values', () => {
    const { open } = table();
    const { current } = open({ ...RULE, limit: () => 7 });
    const rule = current.for({ values: { limit: 7, window: '1m' } });
    expect(rule.hits('ann')).toMatchObject([{ rule: { capacity: 7 } }]);
    expect(current.for({ values: { limit: 7, window: '1m' } })).toBe(rule);
    expect(current.for({ values: { limit: 8, window: '1m' } })).not.toBe(rule);
  });

  it.each([NaN, null, { toJSON: () => 7 }, [7], -1, undefined, () => 7])(
    'is not a cached one if a function returned %p',
    (limit) => {
      const { current } = table().open({ ...RULE, limit: () => 7 });
      current.for({ values: { limit: 7, window: '1m' } });
      expect(() => current.for({ values: { limit, window: '1m' } })).toThrow(/limit: /);
    },
  );

  it('has the exception of its subject, and other subjects have the rule', () => {
    const { open, limitOf } = table();
    const rule = open(RULE);
    rule.change(CHANGES);
    expect([limitOf(rule, '203.0.113.7'), limitOf(rule, '203.0.113.9')]).toEqual([[50], [5]]);
    rule.change(undefined);
    expect(limitOf(rule, '203.0.113.7')).toEqual([5]);
  });

  it('is compiled again after the common cache of all rules was full', () => {
    const { open, keyed } = table(new CacheLimit(2));
    const { current } = open({ ...RULE, limit: () => 7 });
    const compiled = (limit: number): number => {
      const before = keyed.mock.calls.length;
      current.for({ values: { limit, window: '1m' } });
      return keyed.mock.calls.length - before;
    };
    expect([1, 2, 1, 2, 3, 1].map(compiled)).toEqual([1, 1, 0, 0, 1, 1]);
  });
});

describe('the exceptions of a rule with many routes', () => {
  it('are checked once for all routes and subjects with equal fields', () => {
    const { open } = table();
    const checked = new Set<string>();
    const check = (rule: RuleFields, path: string) =>
      open(rule, path)
        .changedBy(NO_EXCEPTIONS)
        .checkExceptions({ layer: undefined, exceptions: HELD }, checked, fail);
    for (let nth = 0; nth < 100; nth += 1) check(RULE, `GET /${nth}`);
    expect(checked.size).toBe(2); // the rule, and the rule with the exception
    check({ ...RULE, limit: 6 }, 'GET /6'); // With the exception, it is the same.
    expect(checked.size).toBe(3);
  });

  it('are checked on a route that is what another route is with an exception', () => {
    const { open } = table();
    const exceptions = [
      { algorithm: 'sliding-window-log' },
      { burst: 20 },
      { algorithm: 'gcra', burst: 9 },
    ].map((fields, nth): HeldRule => ({
      rule: 'login',
      subject: `203.0.113.${nth}`,
      fields,
      until: Infinity,
    }));
    const checked = new Set<string>();
    const rejected: HeldRule[] = [];
    for (const algorithm of ['gcra', 'sliding-window-log'])
      open({ ...RULE, algorithm }, `GET /${algorithm}`)
        .changedBy(NO_EXCEPTIONS)
        .checkExceptions({ layer: undefined, exceptions }, checked, (each, problems) => {
          if (problems.length > 0) rejected.push(each);
        });
    expect(rejected).toEqual([exceptions[1]]);
  });

  it('are one map for all routes that count by the same subject', () => {
    const map = (ipv6Prefix: number) => exceptionsBySubject(HELD, 'ip', ipv6Prefix, 'rule');
    expect(map(64)).toBe(map(64));
    expect(map(56)).not.toBe(map(64));
  });
});
